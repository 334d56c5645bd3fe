/** `layover start`: starts a run, and with `--wait` waits for its end. */
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
  readonly wait?: number;
  readonly json?: true;
}

/** What the route answers: see http/runs.ts. */
interface Started {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  readonly isNew: boolean;
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
  .option("--wait <duration>", "for its end: 30s", durationIn)
  .option("--json", "answer as JSON")
  .addHelpText(
    "after",
    `
Exit code:
  0  the run was started, or was there already; with --wait: it completed
  1  it was not started; with --wait: it failed, was cancelled, or was not over in time

Example:
  layover start order --input '{"amount": 42}' --id o1 --wait 30s`,
  )
  .action(async (workflow: string, options: Options) => {
    const input = options.input === undefined ? undefined : await jsonArgument(options.input, "--input");
    await withServer((server) => startRun(server, workflow, input, options));
  });

async function startRun(
  { api, client }: Server,
  workflow: string,
  input: unknown,
  { id, delay, version, tag: tags, wait, json }: Options,
): Promise<void> {
  const body = { input, id, delay, version, tags, runId: v7() };
  const started = startedIn(await api.post(pathOf("v1", "workflows", workflow, "runs"), body));
  if (wait === undefined) {
    if (json) return printJson(started);
    const what = started.isNew ? "Started" : "It was there already:";
    printAside(
      `${what} ${plain(started.workflow)}@${started.version}. Look at it: layover show ${plain(started.runId)}`,
    );
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
    const { runId, workflow, version, isNew }: Partial<Record<string, unknown>> = { ...answer };
    const areTexts = typeof runId === "string" && typeof workflow === "string";
    if (areTexts && typeof version === "number" && typeof isNew === "boolean")
      return { runId, workflow, version, isNew };
  }
  throw new UsageError("The server that answered is no layover of this version.", {
    hint: "Look where LAYOVER_URL leads: layover doctor",
  });
}

function notCompleted({ status, error }: Awaited<ReturnType<Server["client"]["waitForEnd"]>>, waitMs: number): string {
  if (status === "failed" || status === "cancelled") return `The run ${status}: ${describeError(error)}`;
  return `The run is not over after ${lasting(waitMs)}: it is ${plain(status)}.`;
}
