/** The world that a Worker's steps ask: it sees each of them, answers, and lets one wait if told to. */
import { once } from "node:events";
import { createServer } from "node:http";

export interface World {
  readonly url: string;
  /** The paths that were asked for, in order. */
  readonly asked: readonly string[];
  /** The idempotency keys of the same questions. Empty: the question had none. */
  readonly keys: readonly string[];
  /** When the same questions were asked. */
  readonly instants: readonly number[];
  /** The next question for this path is answered when it is released. */
  hold(path: string): Held;
  close(): void;
}

export interface Held {
  /** Resolves when the question is there. */
  readonly arrived: Promise<void>;
  /** Resolves when whoever asked has left, or has got the answer. */
  readonly left: Promise<void>;
  release(): void;
}

/** `now`: tells the time of day. Default: that of this machine. */
export async function openWorld(now: () => number = Date.now): Promise<World> {
  const asked: string[] = [];
  const keys: string[] = [];
  const instants: number[] = [];
  const holds = new Map<string, { arrive: () => void; leave: () => void; released: Promise<void> }>();
  const server = createServer((request, response) => {
    const path = request.url?.slice(1) ?? "";
    if (path.includes("/")) return void response.writeHead(404).end();
    asked.push(path);
    keys.push(String(request.headers["idempotency-key"] ?? ""));
    instants.push(now());
    const held = holds.get(path);
    holds.delete(path);
    held?.arrive();
    response.once("close", () => held?.leave());
    void (held?.released ?? Promise.resolve()).then(() => response.end("done"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("A TCP server has an address with a port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    keys,
    instants,
    hold(path) {
      const arrived = Promise.withResolvers<void>();
      const left = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      holds.set(path, { arrive: arrived.resolve, leave: left.resolve, released: released.promise });
      return { arrived: arrived.promise, left: left.promise, release: released.resolve };
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
