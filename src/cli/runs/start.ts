/** `layover start`: starts a run, with `--signal` sends it a signal in the same call, and with `--wait` waits for its end. */
import { Command } from "commander";
import { v7 } from "uuid";
import { pathOf } from "../../client/over-http/api.ts";
import { plain, print, printAside, printJson } from "../screen.ts";
import { lasting } from "../times.ts";
import { UsageError } from "../usage-error.ts";
import { durationIn, tagIn, wholeNumberIn } from "./arguments.ts";
import { jsonArgument } from "./json-argument.ts";
import { type Server, withServer } from "./server.ts";
import { describeError } from "./values.ts";

interface Options {
  readonly input?: string;
  readonly id?: string;
  readonly delay?: number;
  readonly version?: number;
  readonly tag?: Readonly<Record<string, string>>;
  readonly signal?: string;
  readonly payload?: string;
  readonly dedupeId?: string;
  readonly wait?: number;
  readonly json?: true;
}

/** What the route answers: see http/starts.ts. */
interface Started {
  readonly runId: string;
  readonly workflow: string;
  /** Undefined: the run was there with another input. */
  readonly version?: number;
  readonly isNew: boolean;
  /** What became of the signal, where one was sent. */
  readonly outcome?: string;
}

export const start = new Command("start")
  .summary("starts a run")
  .description("Starts a run of a workflow that is deployed, and writes its id to stdout; with --wait, its result.")
  .argument("<workflow>", "its name")
  .option("--input <json>", "as it stands, or @FILE, or - for stdin")
  .option("--id <id>", "your own id of the run: starting twice with it starts once")
  .option("--delay <duration>", "from when on it may begin: 5m", durationIn)
  .option("--version <number>", "of the workflow; the newest, if left out", wholeNumberIn)
  .option("--tag <name:value>", "to find it by; any number of times", tagIn)
  .option("--signal <name>", "sends the run this signal, also if it was there already; needs --id")
  .option("--payload <json>", "of the signal: as it stands, or @FILE, or - for stdin")
  .option("--dedupe-id <id>", "your own id of the signal: a second one with it is left out")
  .option("--wait <duration>", "for its end: 30s", durationIn)
  .option("--json", "answer as JSON")
  .addHelpText(
    "after",
    `
Exit code:
  0  the run was started, or was there already; with --wait: it completed
  1  it was not started; with --wait: it failed, was cancelled, or was not over in time

Examples:
  layover start order --input '{"amount": 42}' --id o1 --wait 30s
  layover start cart --id c1 --input '{"customer": "ada"}' --signal item --payload '{"sku": "lamp"}'`,
  )
  .action(async (workflow: string, options: Options) => {
    const request = await requestOf(workflow, options);
    await withServer((server) => startRun(server, request, options));
  });

interface StartRequest {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

async function requestOf(workflow: string, options: Options): Promise<StartRequest> {
  const { id, delay, version, tag: tags, signal, dedupeId } = options;
  const input = options.input === undefined ? undefined : await jsonArgument(options.input, "--input");
  const payload = options.payload === undefined ? undefined : await jsonArgument(options.payload, "--payload");
  const body = { input, id, delay, version, tags, runId: v7() };
  if (signal === undefined) {
    const stray = payload !== undefined ? "--payload" : dedupeId !== undefined ? "--dedupe-id" : undefined;
    if (stray === undefined) return { path: pathOf("v1", "workflows", workflow, "runs"), body };
    throw new UsageError(`${stray} is part of a signal, and there is no --signal.`, {
      hint: `Name the signal: --signal NAME. Or leave ${stray} out.`,
    });
  }
  if (id === undefined) {
    throw new UsageError(
      "--signal needs --id: the signal goes to the run of that id, which is started unless it is there.",
      {
        hint: "Give the run an id of yours: --id ID",
      },
    );
  }
  const path = pathOf("v1", "workflows", workflow, "signals", signal);
  return { path, body: { ...body, payload, dedupeId, signalId: v7() } };
}

async function startRun({ api, client }: Server, { path, body }: StartRequest, { wait, json }: Options): Promise<void> {
  const started = startedIn(await api.post(path, body));
  if (wait === undefined) {
    if (json) return printJson(started);
    printAside(`${whatBecameOf(started)} Look at it: layover show ${plain(started.runId)}`);
    return print(plain(started.runId));
  }
  const ending = await client.waitForEnd(started.runId, { wait });
  const { status, result, error } = ending;
  if (json) printJson({ ...started, status, result, error });
  else if (status === "completed") printJson(result);
  if (status === "completed") return;
  if (json) process.exitCode = 1;
  else throw new UsageError(notCompleted(ending, wait), { hint: `Look at it: layover show ${plain(started.runId)}` });
}

function startedIn(answer: unknown): Started {
  if (typeof answer === "object" && answer !== null) {
    const { runId, workflow, version, isNew, outcome }: Partial<Record<string, unknown>> = { ...answer };
    const areTexts = typeof runId === "string" && typeof workflow === "string";
    if (areTexts && typeof isNew === "boolean") {
      return {
        runId,
        workflow,
        isNew,
        ...(typeof version === "number" && { version }),
        ...(typeof outcome === "string" && { outcome }),
      };
    }
  }
  throw new UsageError("The server that answered is no layover of this version.", {
    hint: "Look where LAYOVER_URL leads: layover doctor",
  });
}

function whatBecameOf({ workflow, version, isNew, outcome }: Started): string {
  const name = version === undefined ? plain(workflow) : `${plain(workflow)}@${version}`;
  const started = isNew ? `Started ${name}.` : `It was there already: ${name}.`;
  if (outcome === undefined) return started;
  return `${started} ${outcome === "duplicate" ? "The signal was sent before." : "The signal was sent."}`;
}

function notCompleted({ status, error }: Awaited<ReturnType<Server["client"]["waitForEnd"]>>, waitMs: number): string {
  if (status === "failed" || status === "cancelled") return `The run ${status}: ${describeError(error)}`;
  return `The run is not over after ${lasting(waitMs)}: it is ${plain(status)}.`;
}
