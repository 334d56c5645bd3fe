/** The HTTP server of a Node process. It answers by a `fetch`, as all hosts do. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { LayoverError } from "../../core/errors.ts";
import { problem } from "../../http/problem.ts";

/** How long answers under way may take after the server has begun to close. */
const answeringMs = 1_000;

/** Makes a server that does not listen yet. */
export function newServer(fetch: (request: Request) => Promise<Response>): Server {
  const listener = getRequestListener(fetch, { overrideGlobalObjects: false });
  return createServer((request, response) => {
    if (isMalformed(request)) return refuse(response);
    // Nobody reads the body of a GET, so it may never end.
    if (!isEndingByItself(request)) response.shouldKeepAlive = false;
    void listener(request, response);
  });
}

/** Listens. Answers the port, which the system chooses if the given one is 0. Rejects with Node's own errors. */
export async function listen(server: Server, port: number, hostname: string | undefined): Promise<number> {
  server.listen(port, hostname);
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

/** Listens no more. Resolves when the answers under way have ended, or have taken too long. */
export async function close(server: Server): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), answeringMs);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  clearTimeout(timer);
}

/** Listens no more, and ends all connections at once. */
export function closeAtOnce(server: Server): void {
  server.close();
  server.closeAllConnections();
}

/** Reads the option `port`. @throws LayoverError `invalid_request` */
export function portOf(port: number | string = 3000): number {
  const number = typeof port === "string" && !/^\d+$/.test(port) ? Number.NaN : Number(port);
  if (Number.isInteger(number) && number >= 0 && number <= 65_535) return number;
  throw new LayoverError("invalid_request", `the port is ${JSON.stringify(port)}`, {
    hint: "Use a whole number from 0 to 65535.",
    details: { field: "port" },
  });
}

/** Whether the request's target and its Host make no URL, such as `Host: 0..0`. */
function isMalformed({ headers, url = "" }: IncomingMessage): boolean {
  return !URL.canParse(url.startsWith("/") ? `http://${headers.host}${url}` : url);
}

/** Refuses the request. It does not repeat the target, which may hold a callback's token. */
function refuse(response: ServerResponse): void {
  const error = new LayoverError("invalid_request", "the Host header or the path of this request is malformed", {
    hint: "Send the request to the address of this server, as a browser or an HTTP library does.",
  });
  const document = problem(error);
  response.writeHead(document.status, { ...Object.fromEntries(document.headers), connection: "close" });
  void document.text().then((text) => response.end(text));
}

function isEndingByItself({ method, headers }: IncomingMessage): boolean {
  const isRead = method !== "GET" && method !== "HEAD";
  return isRead || (headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0);
}
