/**
 * A pooler in transaction mode, as pgbouncer is one, with a few server connections for any number of clients: a client
 * has one from the beginning of a statement (or transaction) to its end, and the next statement may run on another. So
 * whatever a session would keep between statements is somewhere else by then.
 *
 * It stands in for pgbouncer where none is installed, and knows what layover needs of it: passwords in clear on the way
 * to the server, no statements with names, no COPY.
 */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { endsAnswer, endsRequest, type Frame, Frames, frame, int32, isIdle, texts } from "./frames.ts";
import { portOf } from "./ports.ts";

export interface PoolerOptions {
  /** Address of the database, with user and password. Clients may name any database: they get this one. */
  readonly to: string;
  /** How many connections to the server there are at most. Default: 2. */
  readonly size?: number;
}

const protocol3 = 196_608;
const reconnectMs = 100;
/** What the server has to tell a driver before the driver sends a statement. */
const welcome = Buffer.concat([
  frame("R", int32(0)),
  frame("S", texts("client_encoding", "UTF8")),
  frame("S", texts("standard_conforming_strings", "on")),
  frame("S", texts("integer_datetimes", "on")),
  frame("K", int32(0), int32(0)),
  frame("Z", Buffer.from("I")),
]);

/** A connection to the server, lent to one client at a time. */
interface Link {
  readonly socket: Socket;
  client: Visitor | undefined;
  /** Whether its client has a transaction open and has asked for nothing more yet. */
  isBetween: boolean;
}

interface Visitor {
  readonly socket: Socket;
  /** Bytes that it sent while it had no link. They are sent on when it gets one. */
  readonly unsent: Buffer[];
  link: Link | undefined;
}

export class Pooler {
  /** How often a link went from one client to another. */
  handovers = 0;
  readonly #server: Server;
  readonly #to: URL;
  readonly #visitors = new Set<Visitor>();
  readonly #idle: Link[] = [];
  readonly #last = new WeakMap<Link, Visitor>();
  #queue: Visitor[] = [];
  #isClosed = false;

  private constructor({ to, size = 2 }: PoolerOptions) {
    this.#to = new URL(to);
    this.#server = createServer((socket) => this.#welcome(socket));
    for (let number = 0; number < size; number += 1) void this.#connect();
  }

  static async open(options: PoolerOptions): Promise<Pooler> {
    const pooler = new Pooler(options);
    pooler.#server.listen(0, "127.0.0.1");
    await once(pooler.#server, "listening");
    return pooler;
  }

  /** Address at which clients reach the same database through this pooler. */
  get url(): string {
    const url = new URL(this.#to);
    url.hostname = "127.0.0.1";
    url.port = String(portOf(this.#server));
    return url.href;
  }

  close(): void {
    this.#isClosed = true;
    this.#server.close();
    for (const { socket, link } of this.#visitors) {
      socket.destroy();
      link?.socket.destroy();
    }
    for (const { socket } of this.#idle) socket.destroy();
  }

  #welcome(socket: Socket): void {
    const visitor: Visitor = { socket, unsent: [], link: undefined };
    const asked = new Frames("client");
    this.#visitors.add(visitor);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      for (const one of asked.take(chunk)) this.#hear(visitor, one);
    });
    socket.on("close", () => {
      this.#visitors.delete(visitor);
      this.#queue = this.#queue.filter((waiting) => waiting !== visitor);
      // A statement under way is carried out, and its answer dropped. A transaction that nobody will end is given up.
      if (visitor.link?.isBetween) visitor.link.socket.destroy();
    });
  }

  #hear(visitor: Visitor, one: Frame): void {
    if (one.type === "") return void visitor.socket.write(welcome);
    if (one.type === "X") return void visitor.socket.end();
    if (visitor.link) {
      visitor.link.isBetween = false;
      visitor.link.socket.write(one.bytes);
      return;
    }
    visitor.unsent.push(one.bytes);
    if (!endsRequest(one)) return;
    this.#queue.push(visitor);
    this.#lend();
  }

  #lend(): void {
    while (this.#queue.length > 0) {
      const link = this.#idle.shift();
      if (link === undefined) return;
      const visitor = this.#queue.shift();
      if (visitor === undefined) return;
      if (this.#last.get(link) !== visitor) this.handovers += 1;
      this.#last.set(link, visitor);
      link.client = visitor;
      visitor.link = link;
      link.socket.write(Buffer.concat(visitor.unsent.splice(0)));
    }
  }

  /** Opens a link to the server, also in place of one that broke. Tries again until the server is there. */
  async #connect(): Promise<void> {
    while (!this.#isClosed) {
      const socket = connect(Number(this.#to.port), this.#to.hostname);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      try {
        await this.#logIn(socket);
      } catch {
        socket.destroy();
        await delay(reconnectMs);
        continue;
      }
      const link: Link = { socket, client: undefined, isBetween: false };
      const answered = new Frames("server");
      socket.on("data", (chunk) => this.#tell(link, chunk, answered.take(chunk)));
      socket.on("close", () => {
        link.client?.socket.destroy();
        const index = this.#idle.indexOf(link);
        if (index >= 0) this.#idle.splice(index, 1);
        void this.#connect();
      });
      this.#idle.push(link);
      return this.#lend();
    }
  }

  #tell(link: Link, chunk: Buffer, frames: readonly Frame[]): void {
    const { client } = link;
    client?.socket.write(chunk);
    const end = frames.findLast(endsAnswer);
    if (end === undefined || client === undefined) return;
    if (!isIdle(end)) {
      link.isBetween = true;
      if (client.socket.destroyed) link.socket.destroy();
      return;
    }
    client.link = undefined;
    link.client = undefined;
    this.#idle.push(link);
    this.#lend();
  }

  async #logIn(socket: Socket): Promise<void> {
    const { username, password, pathname } = this.#to;
    const said = new Frames("server");
    await once(socket, "connect");
    const terms = Buffer.concat([
      int32(protocol3),
      texts("user", decodeURIComponent(username), "database", pathname.slice(1), ""),
    ]);
    socket.write(Buffer.concat([int32(4 + terms.length), terms]));
    await new Promise<void>((resolve, reject) => {
      const hear = (chunk: Buffer) => {
        for (const one of said.take(chunk)) {
          if (one.type === "R" && one.bytes.readInt32BE(5) === 3)
            socket.write(frame("p", texts(decodeURIComponent(password))));
          if (one.type === "E") reject(new Error(one.bytes.toString("utf8", 5)));
          if (!endsAnswer(one)) continue;
          socket.off("data", hear);
          resolve();
        }
      };
      socket.on("data", hear);
      socket.once("close", () => reject(new Error("the server has hung up")));
    });
  }
}
