/**
 * Stands between a process and Postgres, and says at which of its calls the process dies: before the call is passed on, or when
 * Postgres has carried it out and nobody has heard the answer. A call is what ends with a Sync or is a simple query.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { Mortal } from "./one-host.ts";

export interface DeadlyWire {
  /** The address of the database by this way. */
  readonly url: string;
  close(): void;
}

export async function openDeadlyWire({ databaseUrl, fateOf, die }: Mortal): Promise<DeadlyWire> {
  const { port, hostname } = new URL(databaseUrl);
  const ends = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const end of [near, far]) ends.add(end.on("error", () => {}));
    const said = new Messages();
    const answered = new Messages();
    let hasBegun = false;
    let isDoomed = false;
    near.on("data", (bytes) => {
      // The first message has no type.
      const call = hasBegun ? said.add(bytes) : { bytes, types: "" };
      hasBegun = true;
      if (call === undefined) return;
      const fate = /[SQ]/.test(call.types) ? fateOf() : "passes";
      if (fate === "dies before") return die();
      isDoomed ||= fate === "dies after";
      far.write(call.bytes);
    });
    far.on("data", (bytes) => {
      if (!isDoomed) near.write(bytes);
      else if (answered.add(bytes)?.types.includes("Z")) die();
    });
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(databaseUrl);
  url.port = String(Reflect.get(Object(server.address()), "port"));
  return {
    url: url.href,
    close() {
      server.close();
      for (const end of ends) end.destroy();
    },
  };
}

/** Puts messages together that come in parts. Each has a byte for its type, then its length without that byte. */
class Messages {
  #bytes = Buffer.alloc(0);

  /** Answers all that came since the last answer, with the types of its messages. Undefined: the last one goes on. */
  add(more: Buffer): { readonly bytes: Buffer; readonly types: string } | undefined {
    const bytes = Buffer.concat([this.#bytes, more]);
    this.#bytes = bytes;
    let types = "";
    let at = 0;
    while (at < bytes.length) {
      if (at + 5 > bytes.length) return undefined;
      types += String.fromCharCode(bytes.readUInt8(at));
      at += 1 + bytes.readUInt32BE(at + 1);
    }
    if (at > bytes.length) return undefined;
    this.#bytes = Buffer.alloc(0);
    return { bytes, types };
  }
}
