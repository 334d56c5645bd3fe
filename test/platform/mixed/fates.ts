/** Where a host tells of its requests (told-requests.ts), and the test says at which of them it dies. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { Mortal } from "./one-host.ts";

export interface Fates {
  readonly url: string;
  close(): void;
}

export async function openFates({ fateOf, die }: Pick<Mortal, "fateOf" | "die">): Promise<Fates> {
  const server = createServer((request, response) => {
    const fate = request.url === "/die" ? "dies before" : fateOf();
    if (fate !== "dies before") return void response.end(fate);
    die();
    response.destroy();
  });
  server.keepAliveTimeout = 0; // a process of Lambda that was frozen for long goes on by the connection that it has
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${Reflect.get(Object(server.address()), "port")}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
