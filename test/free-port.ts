import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Finds a free port of this machine, for a caller that must know it before it listens, or that listens on it again later. It
 * is below 32,768: from there on systems give ports to connections to others, and any of these would take it meanwhile.
 * Another program might still take it; that is unlikely.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch (error) {
      if (Reflect.get(Object(error), "code") === "EADDRINUSE") continue;
      throw error;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}
