/**
 * A server for one person, on an embedded Postgres. Killed at any moment it loses nothing; started again on the same
 * folder it goes on.
 */
import { styleText } from "node:util";
import type { LogEntry } from "../../engine/events.ts";
import { reportTo } from "../../engine/events.ts";
import { dashboard } from "../../http/dashboard/index.ts";
import { openapi } from "../../http/openapi/index.ts";
import { answeringAfter } from "../../http/webhooks/mount.ts";
import type { Variables } from "../../http/webhooks/verifier.ts";
import type { Webhook } from "../../http/webhooks/webhook.ts";
import { type NodeServer, serve } from "../../platform/node/index.ts";
import { logLine } from "../../platform/node/log-line.ts";
import { printingEvents } from "../../platform/node/print-events.ts";
import { loadWebhooks } from "../load-webhooks.ts";
import { type Loaded as LoadedWorkflows, loadWorkflows } from "../load-workflows.ts";
import { print, printAside } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import { type DataFolder, openDataFolder } from "./data-folder.ts";
import { linesToTry } from "./lines-to-try.ts";
import { whenAbandoned } from "./when-abandoned.ts";

interface Loaded extends LoadedWorkflows {
  readonly webhooks: readonly Webhook<Variables>[];
}

export interface DevOptions {
  readonly port: number;
  readonly data: string;
}

const namespace = "default";

/**
 * How the user runs a command in the folder in which this one was called. A clone of layover's repository has no
 * package `layover`.
 */
const commandLine = import.meta.url.endsWith(".ts") ? "npm run --silent layover --" : "npx layover";

/** A development server that is ready: its port, and the texts that it prints. */
export interface Serving {
  readonly port: number;
  readonly greeting: string;
  /** The shorter text, for a reload, when the greeting was printed before. */
  readonly brief: string;
}

/** The person or the parent process that began the server. */
interface Owner {
  readonly serving: (serving: Serving) => void;
  /** Resolves when the server is to end. True: another server takes its place at once. */
  readonly asked: () => Promise<boolean>;
}

const person: Owner = { serving: ({ greeting }) => print(greeting), asked: interrupted };

/** @throws UsageError, SetupError */
export async function serveDev(module: string | undefined, options: DevOptions, owner = person): Promise<void> {
  const loaded = { ...(await loadWorkflows(module)), webhooks: module === undefined ? await usualWebhooks() : [] };
  const folder = await openDataFolder(options.data, { namespace });
  const server = await begin(loaded, folder, options);
  // One handler that forgets to await a promise must not end everybody's runs.
  process.on("unhandledRejection", (error) => reportTo(printEvent)(error, "settling a promise that nobody awaits"));
  const { url } = server;
  owner.serving({
    port: Number(new URL(url).port),
    greeting: greeting(server, loaded, folder, options),
    brief: `layover serves ${strong(namesOf(loaded))} at ${strong(url)} again.`,
  });
  await stop(server, folder, { isReplaced: await owner.asked() });
}

/** Those that answer before are carried out before their answer, since there is no queue. */
async function usualWebhooks(): Promise<readonly Webhook<Variables>[]> {
  return (await loadWebhooks(undefined)).map(answeringAfter);
}

async function begin(loaded: Loaded, folder: DataFolder, { port }: DevOptions): Promise<NodeServer> {
  const { embedded, secret } = folder;
  try {
    return await serve({
      workflows: loaded.workflows,
      schedules: loaded.schedules,
      webhooks: loaded.webhooks,
      database: embedded.query,
      namespace,
      isExclusive: true,
      secrets: [secret],
      port,
      hostname: "127.0.0.1",
      dashboard: dashboard({ title: "layover dev" }),
      openapi: openapi(),
      home: () =>
        new Response(null, { status: 302, headers: { location: "/dashboard/", "cache-control": "no-store" } }),
      onLog: printLog,
      onEvent: printEvent,
    });
  } catch (error) {
    await embedded.close();
    throw error instanceof Error && "syscall" in error ? cannotListen(port, error) : error;
  }
}

function cannotListen(port: number, cause: Error): UsageError {
  const isTaken = "code" in cause && cause.code === "EADDRINUSE";
  return new UsageError(isTaken ? `The port ${port} is in use.` : `The port ${port} cannot be used: ${cause.message}`, {
    hint: `Use another one: layover dev --port ${port < 65_535 ? port + 1 : 3000}`,
    cause,
  });
}

function greeting({ url }: NodeServer, loaded: Loaded, { apiKey }: DataFolder, { data }: DevOptions): string {
  const [first] = loaded.workflows;
  const lines = first === undefined ? [] : linesToTry(url, first.contract);
  return [
    `layover serves ${strong(namesOf(loaded))} of ${loaded.file} at ${strong(url)}`,
    `on an embedded Postgres in ${data}. Kill it whenever you like: it goes on when you start it again.`,
    "",
    quiet("# Look at its runs in a browser. The link signs you in, and counts for this data folder:"),
    `${url}/dashboard/sign-in#${apiKey}`,
    "",
    quiet("# Try it from another terminal. The key counts for this data folder:"),
    `KEY=${apiKey}`,
    ...lines.flatMap(({ purpose, command }) => [quiet(`# ${purpose}:`), command]),
    quiet("# Or look at runs by the command line (layover --help):"),
    `LAYOVER_URL=${url} LAYOVER_KEY=$KEY ${commandLine} runs`,
    ...loaded.webhooks.map(({ name }) => quiet(`# The webhook ${name} of functions/webhooks: ${url}/webhooks/${name}`)),
    "",
  ].join("\n");
}

function namesOf({ workflows }: Loaded): string {
  return workflows.map(({ contract: { name, version } }) => `${name} (version ${version})`).join(", ");
}

/** Resolves at the first Ctrl-C, or when npm is gone. A second Ctrl-C ends the process at once, which is safe. */
async function interrupted(): Promise<false> {
  await new Promise<void>((resolve) => {
    let isAsked = false;
    whenAbandoned(resolve);
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        if (isAsked) process.exit(130);
        isAsked = true;
        resolve();
      });
    }
  });
  return false;
}

async function stop(
  server: NodeServer,
  { embedded }: DataFolder,
  { isReplaced }: { isReplaced: boolean },
): Promise<void> {
  const timer = setTimeout(() => {
    if (!isReplaced) print("Steps are under way; press Ctrl-C again not to wait for them.");
  }, 300);
  await server.close(isReplaced ? { grace: 0 } : {});
  await embedded.close();
  clearTimeout(timer);
  process.exit(0);
}

function printLog(entry: LogEntry): void {
  const line = `${quiet(timeOfDay())} ${logLine(entry)}`;
  const { level } = entry;
  print(level === "warn" || level === "error" ? styleText(level === "warn" ? "yellow" : "red", line) : line);
}

const printEvent = printingEvents((level, line) => printAside(`${timeOfDay()} ${level} ${line}`));

function timeOfDay(): string {
  return new Date().toTimeString().slice(0, 8);
}

function strong(text: string): string {
  return styleText("bold", text);
}

function quiet(text: string): string {
  return styleText("dim", text);
}
