/**
 * `layover dev`: a server for one person, on an embedded Postgres. Killed at any moment it loses nothing; started again
 * on the same folder it goes on.
 */
import { parseArgs, styleText } from "node:util";
import type { LogEntry } from "../engine/options.ts";
import { logLine } from "../platform/log-line.ts";
import { type NodeServer, serveNode } from "../platform/node.ts";
import { type DataFolder, openDataFolder } from "./data-folder.ts";
import { linesToTry } from "./lines-to-try.ts";
import { type Loaded, loadWorkflows } from "./load-workflows.ts";
import { UsageError } from "./usage-error.ts";

interface Options {
  readonly module: string | undefined;
  readonly port: number;
  readonly data: string;
}

const namespace = "default";

/** @throws UsageError, SetupError */
export async function dev(args: string[]): Promise<void> {
  const options = optionsIn(args);
  const loaded = await loadWorkflows(options.module);
  const folder = await openDataFolder(options.data, { namespace });
  const server = await serve(loaded, folder, options);
  // A promise that one handler forgot to await is not to end everybody's runs.
  process.on("unhandledRejection", (error) => printError(error, "a promise that nobody awaits"));
  print(greeting(server, loaded, folder, options));
  await interrupted();
  await stop(server, folder);
}

function optionsIn(args: string[]): Options {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: { port: { type: "string", default: "3000" }, data: { type: "string", default: ".layover/data" } },
      allowPositionals: true,
    });
    const { port, data } = values;
    if (positionals.length > 1) throw new Error(`There is one module too many: ${positionals.slice(1).join(" ")}`);
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
      throw new Error(`The port ${JSON.stringify(port)} is no number from 0 to 65535.`);
    }
    if (data === "") throw new Error("The data folder has no name.");
    return { module: positionals[0], port: Number(port), data };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), {
      hint: "Usage: layover dev [MODULE] [--port 3000] [--data .layover/data]",
      cause: error,
    });
  }
}

async function serve({ workflows }: Loaded, folder: DataFolder, { port }: Options): Promise<NodeServer> {
  const { embedded, secret } = folder;
  try {
    return await serveNode({
      workflows,
      database: embedded.query,
      namespace,
      isExclusive: true,
      secrets: [secret],
      port,
      hostname: "127.0.0.1",
      onLog: printLog,
      onError: printError,
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

function greeting({ url }: NodeServer, { file, workflows }: Loaded, { apiKey }: DataFolder, { data }: Options): string {
  const names = workflows.map(({ contract: { name, version } }) => `${name} (version ${version})`).join(", ");
  const [first] = workflows;
  const lines = first === undefined ? [] : linesToTry(url, first.contract);
  return [
    `layover serves ${strong(names)} of ${file} at ${strong(url)}`,
    `on an embedded Postgres in ${data}. Kill it whenever you like: it goes on when you start it again.`,
    "",
    quiet("# Try it from another terminal. The key counts for this data folder:"),
    `KEY=${apiKey}`,
    ...lines.flatMap(({ purpose, command }) => [quiet(`# ${purpose}:`), command]),
    "",
  ].join("\n");
}

/** Resolves at the first Ctrl-C. The second one ends the process at once, which is safe. */
async function interrupted(): Promise<void> {
  await new Promise<void>((resolve) => {
    let isAsked = false;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        if (isAsked) process.exit(130);
        isAsked = true;
        resolve();
      });
    }
  });
}

async function stop(server: NodeServer, { embedded }: DataFolder): Promise<void> {
  const timer = setTimeout(() => print("Steps are under way; press Ctrl-C again not to wait for them."), 300);
  await server.close();
  await embedded.close();
  clearTimeout(timer);
  process.exit(0);
}

function printLog(entry: LogEntry): void {
  const colors = process.stdout.hasColors?.() ?? false;
  const line = `${quiet(timeOfDay())} ${logLine(entry, { colors })}`;
  const { level } = entry;
  print(level === "warn" || level === "error" ? styleText(level === "warn" ? "yellow" : "red", line) : line);
}

function printError(error: unknown, doing: string): void {
  console.error(`${timeOfDay()} error, ${doing}:`, error);
}

function print(text: string): void {
  console.log(text);
}

function timeOfDay(): string {
  return new Date().toTimeString().slice(0, 8);
}

function strong(text: string): string {
  return styleText("bold", text);
}

function quiet(text: string): string {
  return styleText("dim", text);
}
