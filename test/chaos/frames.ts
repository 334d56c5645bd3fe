/**
 * Just enough of Postgres' wire protocol (https://www.postgresql.org/docs/current/protocol-message-formats.html) to
 * stand between a client and a server: where a message begins and ends, what statement it is of, and where an answer is
 * complete. Without TLS, and without COPY.
 */

export interface Frame {
  /** Letter of the message; empty for the first message of a client, which has none. */
  readonly type: string;
  readonly bytes: Buffer;
}

/** Cuts a stream into messages, however the network has chopped it. */
export class Frames {
  #rest: Buffer = Buffer.alloc(0);
  #isOpening: boolean;

  constructor(from: "client" | "server") {
    this.#isOpening = from === "client";
  }

  take(chunk: Buffer): Frame[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const frames: Frame[] = [];
    for (;;) {
      const before = this.#isOpening ? 0 : 1;
      if (this.#rest.length < before + 4) return frames;
      const length = before + this.#rest.readInt32BE(before);
      if (this.#rest.length < length) return frames;
      const type = this.#isOpening ? "" : String.fromCharCode(this.#rest.readUInt8(0));
      frames.push({ type, bytes: this.#rest.subarray(0, length) });
      this.#rest = this.#rest.subarray(length);
      this.#isOpening = false;
    }
  }
}

/** Remembers the statements that a client has prepared, to tell which one is about to be executed. */
export class Statements {
  readonly #texts = new Map<string, string>();

  /** Answers the text of the statement that a message executes; undefined for any other message. */
  executedBy({ type, bytes }: Frame): string | undefined {
    if (type === "Q") return textsIn(bytes)[0];
    if (type === "P") {
      const [name = "", text = ""] = textsIn(bytes);
      this.#texts.set(name, text);
    }
    return type === "B" ? this.#texts.get(textsIn(bytes)[1] ?? "") : undefined;
  }
}

/** Tells whether the client waits for an answer after this message: a simple query, or the end of an extended one. */
export function endsRequest({ type }: Frame): boolean {
  return type === "Q" || type === "S";
}

/** Tells whether the message is ReadyForQuery: the request is done, and committed where no transaction is open. */
export function endsAnswer({ type }: Frame): boolean {
  return type === "Z";
}

/** Tells whether a ReadyForQuery says that no transaction is open. */
export function isIdle({ bytes }: Frame): boolean {
  return String.fromCharCode(bytes.readUInt8(5)) === "I";
}

/** Makes a message of the server, or one of a client after its first. */
export function frame(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(5);
  head.write(type, "latin1");
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

export function int32(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(number);
  return bytes;
}

export function texts(...values: readonly string[]): Buffer {
  return Buffer.from(values.map((value) => `${value}\0`).join(""));
}

/** Reads the first two texts of a message: a query's; a Parse's name and query; a Bind's portal and statement. */
function textsIn(bytes: Buffer): readonly string[] {
  const first = bytes.indexOf(0, 5);
  const second = bytes.indexOf(0, first + 1);
  return [bytes.toString("utf8", 5, first), second < 0 ? "" : bytes.toString("utf8", first + 1, second)];
}
