/**
 * A network that breaks when it hurts: a proxy in front of Postgres that cuts a connection at a statement it was told
 * of. Each statement outside of a transaction commits by itself, so a cut around it is a cut around its COMMIT.
 *
 *   before    nothing of it arrives
 *   during    it arrives, and who sent it is gone: nobody knows what became of it
 *   after     it is committed, and the answer is lost
 *
 * Or one that goes silent: nothing passes any more, and nobody is told.
 */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { endsAnswer, endsRequest, Frames, Statements } from "./frames.ts";
import { portOf } from "./ports.ts";

export const cuts = ["before", "during", "after"] as const;
export type Cut = (typeof cuts)[number];

export interface CutterOptions {
  /** Address of the database behind the proxy, with user and password. */
  readonly to: string;
}

export class Cutter {
  /** Cuts made so far: `after finish_turns` and how often. */
  readonly made = new Map<string, number>();
  readonly #server: Server;
  readonly #to: URL;
  readonly #sockets = new Set<Socket>();
  /** One function for each open connection, which makes that connection silent. */
  readonly #hushes = new Set<() => void>();
  #isSilent = false;
  #armed: { readonly cut: Cut; readonly at: RegExp }[] = [];

  private constructor({ to }: CutterOptions) {
    this.#to = new URL(to);
    this.#server = createServer((client) => this.#join(client));
  }

  static async open(options: CutterOptions): Promise<Cutter> {
    const cutter = new Cutter(options);
    cutter.#server.listen(0, "127.0.0.1");
    await once(cutter.#server, "listening");
    return cutter;
  }

  /** Address at which clients reach the same database through this proxy. */
  get url(): string {
    const url = new URL(this.#to);
    url.hostname = "127.0.0.1";
    url.port = String(portOf(this.#server));
    return url.href;
  }

  /** Cuts the next statement that matches, on any connection. */
  arm(cut: Cut, at: RegExp): void {
    this.#armed.push({ cut, at });
  }

  /** Passes nothing on any more. Connections that are open now or made meanwhile stay silent for ever. */
  silence(): void {
    this.#isSilent = true;
    for (const hush of this.#hushes) hush();
  }

  /** Lets new connections work again. */
  speak(): void {
    this.#isSilent = false;
  }

  disarm(): void {
    this.#armed = [];
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(client: Socket): void {
    const server = connect(Number(this.#to.port), this.#to.hostname);
    const statements = new Statements();
    const asked = new Frames("client");
    const answered = new Frames("server");
    let cut: Cut | undefined;
    let isSilent = this.#isSilent;
    const hush = () => {
      isSilent = true;
    };
    this.#hushes.add(hush);
    const part = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", part);
      socket.on("close", () => {
        this.#sockets.delete(socket);
        this.#hushes.delete(hush);
        part();
      });
    }
    client.on("data", (chunk) => {
      if (isSilent) return;
      for (const frame of asked.take(chunk)) {
        const statement = statements.executedBy(frame);
        if (cut === undefined && statement !== undefined) cut = this.#take(statement);
        if (cut === "before") return part();
        server.write(frame.bytes);
        if (cut === "during" && endsRequest(frame)) return server.end(part);
      }
    });
    server.on("data", (chunk) => {
      if (isSilent) return;
      if (cut !== "after") client.write(chunk);
      if (answered.take(chunk).some(endsAnswer) && cut === "after") part();
    });
  }

  #take(statement: string): Cut | undefined {
    const index = this.#armed.findIndex(({ at }) => at.test(statement));
    const [armed] = index < 0 ? [] : this.#armed.splice(index, 1);
    if (armed === undefined) return undefined;
    const what = `${armed.cut} ${/layover\.(\w+)/.exec(statement)?.[1] ?? statement}`;
    this.made.set(what, (this.made.get(what) ?? 0) + 1);
    return armed.cut;
  }
}
