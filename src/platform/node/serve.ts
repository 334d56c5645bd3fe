/**
 * layover as a server of Node's: the HTTP face and the engine, in one process.
 *
 *   await serve({ workflows: [orderWorkflow], database: pg(pool), secrets: [process.env.LAYOVER_SECRET] });
 */
import { type Report, reportTo } from "../../engine/events.ts";
import { besideApiKeys } from "../../http/access.ts";
import { armPath } from "../../http/arm.ts";
import { answering, prefixOf } from "../../http/prefix.ts";
import { Secrets } from "../../http/secrets.ts";
import { createSite } from "../../http/site.ts";
import { checkWebhooks, mountWebhooks } from "../../http/webhooks/mount.ts";
import { hostClock } from "../../postgres/host-clock.ts";
import { flushed } from "../log/flushed.ts";
import { printingHooks } from "../log/printing-hooks.ts";
import { prepareInProcess } from "./in-process/in-process.ts";
import { close, closeAtOnce, listen, newServer, portOf } from "./listener.ts";
import { answerDoor, doorOf, inUrl, isAnyAddress } from "./neighbours/door.ts";
import type { NodeOptions, NodeServer } from "./options.ts";
import { printEvent, printLog } from "./print.ts";
import { printJsonEvent, printJsonLog } from "./print-json.ts";

const jsonLines = { printLog: printJsonLog, printEvent: printJsonEvent };

/**
 * Serves workflows until it is closed. It listens before it begins work, so a second server on the same port carries
 * out nothing.
 *
 * What handlers log goes to stdout, unless you take it by `onLog`. The events that an operator must see go to stderr,
 * unless you take all events by `onEvent`, or the errors among them by `onError`.
 *
 * @throws LayoverError `invalid_secret`, `invalid_name`, `duplicate_workflow`, `invalid_request` for a port that is
 *   none; Node's own errors if it cannot listen
 * @example const { url, client, close } = await serve({ workflows, database: pg(pool), secrets, port: 3000 });
 */
export async function serve(options: NodeOptions): Promise<NodeServer> {
  const { hostname } = options;
  const secrets = new Secrets(options.secrets);
  const prefix = prefixOf(options.prefix);
  checkWebhooks(options.webhooks, { noQueue: "Node has no queue that outlives a process" });
  const face = Promise.withResolvers<Face["fetch"]>();
  const server = newServer(async (request) => await (await face.promise)(request));
  const port = await listen(server, portOf(options.port), hostname);
  const url = `http://${isAnyAddress(hostname) ? "localhost" : inUrl(hostname)}:${port}${prefix}`;
  try {
    const { resident, fetch, report } = faceOf(options, { secrets, prefix, port, url });
    face.resolve(fetch);
    await resident.begin();
    return {
      url,
      client: resident.client,
      close: async (closing) => {
        await resident.close(closing);
        await close(server);
        await flushed(options.telemetry, hostClock, report);
      },
    };
  } catch (error) {
    closeAtOnce(server);
    throw error;
  }
}

/** Where a server listens, and what it signs by. */
interface Listening {
  readonly secrets: Secrets;
  readonly prefix: string;
  readonly port: number;
  readonly url: string;
}

interface Face {
  readonly report: Report;
  readonly resident: ReturnType<typeof prepareInProcess>;
  readonly fetch: (request: Request) => Response | Promise<Response>;
}

/** Makes the process that carries out the work, and what answers its requests. */
function faceOf(options: NodeOptions, { secrets, prefix, port, url }: Listening): Face {
  const { workflows, namespace = "default", environment, hostname, authenticate, cors, home } = options;
  const lines = { printLog, printEvent };
  const hooks = printingHooks(options, options.logs === "json" ? jsonLines : lines);
  const report = reportTo(hooks.onEvent);
  const publicUrl = options.publicUrl ?? url;
  const door = options.processes && doorOf(options.processes, { hostname, port, prefix });
  const wakeAddress = options.publicUrl?.replace(/\/+$/, "") ?? door;
  const resident = prepareInProcess({ ...options, namespace, publicUrl, wakeAddress, secrets, door, ...hooks });
  const { client, neighbours, deployment } = resident;
  const terms = { secrets, namespace, environment };
  const site = createSite({
    prefix,
    cors,
    home,
    client,
    contracts: workflows.map(({ contract }) => contract),
    ...terms,
    authenticate: authenticate && besideApiKeys(authenticate, terms),
    webhooks: mountWebhooks(options.webhooks, { env: process.env, tell: hooks.onEvent }),
    dashboard: options.dashboard?.mount,
    publicUrl,
    openapi: options.openapi,
    replayCheck: options.replayCheck?.({ ...options, deployment }),
    isClosing: () => resident.isClosing,
    onError: (error, request) => report(error, answering(request)),
  });
  const isForDoor = ({ method, url }: Request) => method === "POST" && new URL(url).pathname === `${prefix}${armPath}`;
  const fetch: Face["fetch"] = (request) =>
    neighbours !== undefined && isForDoor(request)
      ? answerDoor(request, neighbours, { secrets, namespace })
      : site.fetch(request);
  return { resident, fetch, report };
}
