/** `layover replay`: replays one run on this machine, with a debugger if wanted. */
import { existsSync, readFileSync } from "node:fs";
import { open, url } from "node:inspector";
import { Command } from "commander";
import { checkExport, type ExportedRun } from "../../client/exports.ts";
import { readWhole } from "../../client/over-postgres/stored-runs.ts";
import { isUuid } from "../../client/run-id.ts";
import { Registry } from "../../engine/registry.ts";
import type { ReplayVerdict } from "../../engine/replay/replay-stored.ts";
import type { RunKey } from "../../postgres/wire-verbs.ts";
import { withDatabase } from "../database/database.ts";
import { loadWorkflows } from "../load-workflows.ts";
import { wholeNumberIn } from "../runs/arguments.ts";
import { print, printAside, printJson } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import { Judge } from "./judge.ts";
import { refuseNetwork, refuseTimers } from "./refusals.ts";
import { replayHere } from "./replay-here.ts";
import { replayText } from "./replay-text.ts";
import { refuseElsewhere } from "./sealed.ts";

interface Options {
  readonly version?: number;
  readonly inspect?: true | number;
  readonly json?: true;
}

/** The exit codes, as those of replay-check. 1 is that of a command that failed. */
const exitCodes = { fits: 0, blocks: 2, ends: 3 } as const;
/** The port that debuggers try if nobody names one. */
const usualPort = 9229;

export const replay = new Command("replay")
  .summary("replays one run on this machine, under a debugger if wanted")
  .description(
    `Replays this code over the history of a run, and says what each step answered and where the run stands. It carries nothing
out: no body of a step is called, and the code gets no fetch, no socket and no timer. The run is a file that \`layover export\`
has written, or one in the database (DATABASE_URL; the role layover_reader suffices), over or not.

With --inspect it waits until a debugger is attached, and stops at the breakpoints in your workflow: in Chrome at
chrome://inspect, in an editor by attaching to Node.

Exit codes: 0 the code fits; 2 the run would be blocked; 3 the code ends otherwise; 1 it failed.`,
  )
  .argument("<run>", "an exported run's file; or a run in the database: layover's id, or WORKFLOW/ID with your own id")
  .argument("[module]", "the module that exports the workflows; functions/workflows, if left out")
  .option("--version <number>", "replay it with the code of this version", wholeNumberIn)
  .option(
    "--inspect [port]",
    `wait for a debugger at this port of this machine; ${usualPort}, if left out`,
    wholeNumberIn,
  )
  .option("--json", "answer as JSON")
  .addHelpText(
    "after",
    "\nExamples:\n  layover replay order-o1.json\n  layover replay order/o1 src/workflows.ts --inspect\n  layover replay order/o1 --version 2",
  )
  .action(async (name: string, module: string | undefined, { version, inspect, json }: Options) => {
    const whole = await findRun(name);
    const stored = version === undefined ? whole : { ...whole, run: { ...whole.run, version } };
    refuseElsewhere(stored, "replay");
    const verdict = inspect === undefined ? await judged(stored, module) : await inspected(stored, module, inspect);
    process.exitCode = exitCodes[verdict.outcome];
    if (json) printJson({ runId: stored.runId, ...verdict });
    else print(replayText(stored, verdict));
  });

/** @throws UsageError */
async function findRun(name: string): Promise<ExportedRun> {
  if (existsSync(name)) return checkExport(jsonIn(name));
  const found = await withDatabase(({ calls }) => readWhole(calls, keyOf(name)));
  if (found !== undefined) return found;
  throw new UsageError(`There is no run ${name}, and no such file.`, {
    hint: "Look for it by `layover runs`, or name the file that `layover export` has written.",
  });
}

/** @throws UsageError */
function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new UsageError(`${file} holds no JSON.`, { hint: "Name a file that `layover export` has written.", cause });
  }
}

/** @throws UsageError */
function keyOf(name: string): RunKey {
  if (isUuid(name)) return { runId: name };
  const [, workflow, id] = /^([^/]+)\/(.+)$/.exec(name) ?? [];
  if (workflow !== undefined && id !== undefined) return { workflow, id };
  throw new UsageError(`${name} is no file, and names no run.`, {
    hint: "Write the file's path, the run's whole id, or WORKFLOW/ID with your own id.",
  });
}

async function judged(stored: ExportedRun, module: string | undefined): Promise<ReplayVerdict> {
  const judge = new Judge(module);
  try {
    await judge.begin();
    checkVersion(stored, judge.versions);
    return await judge.judge(stored);
  } finally {
    await judge.end();
  }
}

/** Replays it in this very thread, where a debugger sees the code. */
async function inspected(
  stored: ExportedRun,
  module: string | undefined,
  inspect: true | number,
): Promise<ReplayVerdict> {
  if (url() === undefined) {
    printAside("Waiting for a debugger …");
    open(inspect === true ? usualPort : inspect, "127.0.0.1", true);
  }
  refuseNetwork();
  const { workflows, schedules } = await loadWorkflows(module);
  const registry = new Registry(workflows, schedules);
  checkVersion(stored, registry.versions);
  refuseTimers();
  return await replayHere(registry, stored);
}

/** @throws UsageError */
function checkVersion({ run: { workflow, version } }: ExportedRun, versions: Registry["versions"]): void {
  if (versions[workflow]?.includes(version)) return;
  const here = versions[workflow] ?? [];
  throw new UsageError(`This code has no version ${version} of ${workflow}.`, {
    hint:
      here.length === 0
        ? "Name the module that exports it: layover replay RUN src/workflows.ts"
        : `It has version ${here.join(", ")}: name one by --version.`,
  });
}
