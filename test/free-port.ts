import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Finds a free port of this machine, for a caller that must know it before it listens. Another program might take it
 * meanwhile; that is unlikely.
 */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("A TCP server has an address with a port.");
  return address.port;
}
