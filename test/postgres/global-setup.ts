/**
 * Lends servers to a run of vitest. Each version is started when the first test asks for it, so a run of pure tests
 * starts none. Test files live in processes of their own; they ask over this door.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { TestProject } from "vitest/node";
import { type FoundPostgres, findPostgres, versionsToTest } from "./find.ts";

declare module "vitest" {
  export interface ProvidedContext {
    postgres: { readonly door: string; readonly versions: readonly string[] };
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const servers = new Map<string, Promise<FoundPostgres>>();

  const door = createServer((request, response) => {
    // A connection that is kept may be closed here just when a test asks on it again.
    response.setHeader("connection", "close");
    const version = (request.url ?? "/").slice(1);
    const server = servers.get(version) ?? findPostgres(version);
    servers.set(version, server);
    server.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  const address = door.address();
  if (address === null || typeof address === "string") throw new Error("A TCP server has an address with a port.");
  project.provide("postgres", { door: `http://127.0.0.1:${address.port}`, versions: versionsToTest() });

  return async () => {
    door.close();
    door.closeAllConnections();
    const started = await Promise.allSettled(servers.values());
    for (const server of started) if (server.status === "fulfilled") await server.value.stop();
  };
}
