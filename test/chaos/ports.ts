/**
 * A port for a server that is down now and then, while others go on calling it. Not one of those that the system hands
 * out to callers: one of these could be given the very port that it calls, and so would be connected to itself, and the
 * server could not have it back.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Below what Linux (32768), macOS and Windows (49152) hand out. */
const first = 20_000;
const count = 10_000;

export async function quietPort(): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * count);
    const server = createServer();
    try {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      return port;
    } catch {
      // taken: another one
    } finally {
      server.close();
    }
  }
}

/** Where it listens. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("A TCP server has an address with a port.");
  return address.port;
}
