/** A real server before an app, on a real socket, that spoils its first answers as it is told. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { Hono } from "hono";
import { onTestFinished } from "vitest";

/**
 * "lost": the app has done its work, and the connection breaks before a byte of the answer; "cut": in the midst of it;
 * "held": nobody ever answers. A Response is given instead of the app's.
 */
export type Fault = "lost" | "cut" | "held" | Response;

export interface FaultyServer {
  readonly url: string;
  /** Those that came, in order. */
  readonly requests: readonly { readonly path: string; readonly authorization: string | undefined }[];
  /** Resolves when so many have come. */
  arrival(count: number): Promise<void>;
}

export async function aFaultyServer(app: Hono, faults: readonly Fault[] = []): Promise<FaultyServer> {
  const requests: FaultyServer["requests"][number][] = [];
  const left = [...faults];
  const server = createServer(async (incoming, outgoing) => {
    requests.push({ path: incoming.url ?? "", authorization: incoming.headers.authorization });
    server.emit("arrived");
    const fault = left.shift();
    if (fault === "held") return;
    const response = fault instanceof Response ? fault : await app.request(...(await requestOf(incoming)));
    await send(response, outgoing, fault);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const arrival = async (count: number) => {
    while (requests.length < count) await once(server, "arrived");
  };
  return { url: `http://127.0.0.1:${port}`, requests, arrival };
}

async function requestOf(incoming: IncomingMessage): Promise<[string, RequestInit]> {
  const { method = "GET", url = "/" } = incoming;
  const headers = new Headers(
    Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const body = method === "GET" ? {} : { body: await text(incoming) };
  return [`http://test${url}`, { method, headers, ...body }];
}

async function send(response: Response, outgoing: ServerResponse, fault: Fault | undefined): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  if (fault === "lost") {
    outgoing.destroy();
    return;
  }
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), "content-length": body.length });
  if (fault !== "cut") {
    outgoing.end(body);
    return;
  }
  outgoing.write(body.subarray(0, body.length / 2), () => outgoing.destroy());
}
