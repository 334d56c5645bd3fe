/**
 * layover as a server of Node's: the HTTP face and the engine, in one process.
 *
 *   await serveNode({ workflows: [orderWorkflow], database: pg(pool), secrets: [process.env.LAYOVER_SECRET] });
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Client } from "../../client/over-postgres/client.ts";
import { LayoverError } from "../../core/errors.ts";
import { exceptErrors, type LayoverEvent, reportTo } from "../../engine/events.ts";
import { guardHooks } from "../../engine/hooks.ts";
import type { LogEntry } from "../../engine/options.ts";
import { type Authenticate, besideApiKeys } from "../../http/access.ts";
import { armPath } from "../../http/arm.ts";
import { prefixOf, shownPath } from "../../http/prefix.ts";
import { problem } from "../../http/problem.ts";
import { Secrets } from "../../http/secrets.ts";
import { type CorsOptions, createSite } from "../../http/site.ts";
import { type CloseOptions, type InProcessOptions, prepareInProcess } from "./in-process/in-process.ts";
import { logLine } from "./log-line.ts";
import { answerDoor, doorOf, inUrl, isAnyAddress, type ProcessesOptions } from "./neighbours/door.ts";
import { printingEvents } from "./print-events.ts";

export type { Authenticate, Caller } from "../../http/access.ts";
export type { CorsOptions } from "../../http/site.ts";
export type { CloseOptions } from "./in-process/in-process.ts";
export type { ProcessesOptions } from "./neighbours/door.ts";
export { requireDatabase } from "./require-database.ts";

export interface NodeOptions extends Omit<InProcessOptions, "secrets"> {
  /** The root secret, and while it is being replaced the old one after it. At least 32 random bytes each. */
  readonly secrets: readonly (string | undefined)[];
  /** The port. It may be a text, as in an environment variable. 0: any free port. Default: 3000. */
  readonly port?: number | string | undefined;
  /** Which address to listen on. Default: all of this machine. */
  readonly hostname?: string | undefined;
  /** The prefix of every path: `/layover`. Default: none. */
  readonly prefix?: string | undefined;
  /**
   * Who calls, where that is not told by an API key but by a session of your own, say. It is asked first; whom it does
   * not know may still have a key. Where a cookie tells who calls, have it refuse other sites' requests: look at `Origin`.
   */
  readonly authenticate?: Authenticate | undefined;
  /** The other websites that may call this server from a browser. Default: none. */
  readonly cors?: CorsOptions | undefined;
  /** Answers `GET /`, as when somebody opens it in a browser. Default: 404, with a problem document. */
  readonly home?: (() => Response) | undefined;
  /**
   * The address at which the world reaches this server, with the prefix. Default: `http://localhost`, the port and the
   * prefix.
   */
  readonly publicUrl?: string | undefined;
  /**
   * Settings for several processes on one database. With a `door` each, they ring for each other: if one dies, another
   * one wakes what it was to wake. Without doors a process that dies takes its alarms with it, so have a cron call
   * `POST /v1/wake` each minute. Default: no door.
   */
  readonly processes?: ProcessesOptions | undefined;
}

export interface NodeServer {
  /** The address of this server, with the prefix, without a slash at the end. */
  readonly url: string;
  readonly client: Client;
  /**
   * Ends this server: nothing more begins. Resolves when requests and steps under way have ended. Meanwhile it still
   * answers requests, and `GET /health` answers 503, so that a load balancer sends no more. A step that takes longer
   * than the grace has its `abortSignal` fired, and the next process begins it again. Default of the grace: 10 seconds.
   */
  close(options?: CloseOptions): Promise<void>;
}

/** How long answers under way may take once the engine has stopped. */
const answeringMs = 1_000;

/**
 * Serves workflows until it is closed. It listens before it begins work, so a second server on the same port carries
 * out nothing.
 *
 * What handlers log goes to stdout, unless you take it by `onLog`. The events that an operator must see go to stderr,
 * unless you take all events by `onEvent`, or the errors among them by `onError`.
 *
 * @throws LayoverError `invalid_secret`, `invalid_name`, `duplicate_workflow`, `invalid_request` for a port that is
 *   none; Node's own errors if it cannot listen
 * @example const { url, client, close } = await serveNode({ workflows, database: pg(pool), secrets, port: 3000 });
 */
export async function serveNode(options: NodeOptions): Promise<NodeServer> {
  const { workflows, namespace = "default", hostname } = options;
  const {
    onLog = printLog,
    onError,
    onEvent = onError === undefined ? printEvent : exceptErrors(printEvent),
  } = options;
  const hooks = guardHooks({ onLog, onError, onEvent });
  const tellError = reportTo(hooks.onEvent);
  const secrets = new Secrets(options.secrets);
  const prefix = prefixOf(options.prefix);
  const app = Promise.withResolvers<(request: Request) => Response | Promise<Response>>();
  const fetch = async (request: Request): Promise<Response> => await (await app.promise)(request);
  const listener = getRequestListener(fetch, { overrideGlobalObjects: false });
  const server = createServer((request, response) => {
    if (isMalformed(request)) return refuse(response);
    // Nobody reads the body of a GET, so it may never end.
    if (!isEndingByItself(request)) response.shouldKeepAlive = false;
    void listener(request, response);
  });
  const port = await listen(server, portOf(options.port), hostname);
  const url = `http://${isAnyAddress(hostname) ? "localhost" : inUrl(hostname)}:${port}${prefix}`;
  try {
    const publicUrl = options.publicUrl ?? url;
    const door = options.processes && doorOf(options.processes, { hostname, port, prefix });
    const resident = prepareInProcess({ ...options, namespace, publicUrl, secrets, door, ...hooks });
    const { client, neighbours } = resident;
    const contracts = workflows.map(({ contract }) => contract);
    const report = (error: unknown, request: Request) =>
      tellError(error, `answering ${request.method} ${shownPath(request)}`);
    const terms = { secrets, namespace, environment: options.environment };
    const authenticate = options.authenticate && besideApiKeys(options.authenticate, terms);
    const { cors, home } = options;
    const isClosing = () => resident.isClosing;
    const siteOptions = {
      prefix,
      cors,
      home,
      client,
      contracts,
      ...terms,
      authenticate,
      isClosing,
      onError: report,
    };
    const site = createSite(siteOptions);
    const isForDoor = ({ method, url }: Request) =>
      method === "POST" && new URL(url).pathname === `${prefix}${armPath}`;
    app.resolve((request) =>
      neighbours !== undefined && isForDoor(request)
        ? answerDoor(request, neighbours, { secrets, namespace })
        : site.fetch(request),
    );
    await resident.begin();
    return {
      url,
      client,
      close: async (closing) => {
        await resident.close(closing);
        const closed = closeServer(server);
        const timer = setTimeout(() => server.closeAllConnections(), answeringMs);
        await closed;
        clearTimeout(timer);
      },
    };
  } catch (error) {
    void closeServer(server);
    server.closeAllConnections();
    throw error;
  }
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

async function listen(server: Server, port: number, hostname: string | undefined): Promise<number> {
  server.listen(port, hostname);
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

function portOf(port: number | string = 3000): number {
  const number = typeof port === "string" && !/^\d+$/.test(port) ? Number.NaN : Number(port);
  if (Number.isInteger(number) && number >= 0 && number <= 65_535) return number;
  throw new LayoverError("invalid_request", `the port is ${JSON.stringify(port)}`, {
    hint: "Use a whole number from 0 to 65535.",
    details: { field: "port" },
  });
}

function printLog(entry: LogEntry): void {
  console.log(`${new Date().toISOString()} ${entry.level} ${logLine(entry)}`);
}

const print = printingEvents((level, line) => console.error(`${new Date().toISOString()} ${level} ${line}`));

/**
 * Writes a line to stderr for an event that an operator must see. Of equal events within a minute it writes only the
 * first one, and how many there were. A server does this by itself if it has no `onEvent`.
 *
 * @example onEvent: (event) => { counters[event.kind] += 1; printEvent(event); }
 */
export function printEvent(event: LayoverEvent): void {
  print(event);
}
