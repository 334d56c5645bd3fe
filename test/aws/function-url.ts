/** A server that stands for a function URL: each request is an invocation. */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Ended } from "./environments.ts";

export function functionUrl(invoke: (event: object) => Promise<Ended>): Server {
  return createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { answer, error } = await invoke(eventOf(request, Buffer.concat(chunks)));
    const { statusCode = 502, headers = {}, body = error ?? "", isBase64Encoded = false } = Object(answer);
    response.writeHead(statusCode, headers).end(isBase64Encoded ? Buffer.from(body, "base64") : body);
  });
}

/** An event of a function URL, version 2.0 of its payload. */
function eventOf(request: IncomingMessage, body: Buffer): object {
  const { pathname, search } = new URL(request.url ?? "/", "http://localhost");
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: request.headers,
    requestContext: {
      domainName: request.headers.host ?? "localhost",
      http: { method: request.method, path: pathname, sourceIp: "127.0.0.1" },
    },
    body: body.length === 0 ? null : body.toString("base64"),
    isBase64Encoded: body.length > 0,
  };
}
