/** `layover upgrade`: moves the parked runs that fit to another version of their workflow, and no others. */
import { Command } from "commander";
import { filterCall } from "../../client/filter.ts";
import { type Api, pathOf } from "../../client/over-http/api.ts";
import type { UpgradeReceipt } from "../../client/over-postgres/upgrades.ts";
import type { RunStatus } from "../../client/run-view.ts";
import type { WireFilter } from "../../postgres/wire-views.ts";
import { withDatabase } from "../database/database.ts";
import { headerIn, wholeNumberIn } from "../runs/arguments.ts";
import { type FilterOptions, withChoice } from "../runs/filter.ts";
import { withServer } from "../runs/server.ts";
import { userName } from "../runs/user-name.ts";
import { print, printAside, printJson } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import { checkPlace, withJudgeAt } from "./at.ts";
import { Judge } from "./judge.ts";
import { moveAll } from "./move-all.ts";
import { type Looker, lookerHere, type Mover, type Told } from "./move-run.ts";
import { countsOf, linesOf } from "./move-text.ts";

interface Options extends Pick<FilterOptions, "status" | "tag" | "createdFrom" | "createdBefore"> {
  readonly from: number;
  readonly to: number;
  readonly run?: readonly string[];
  readonly limit?: number;
  readonly at?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly deployment?: string;
  readonly dryRun?: true;
  readonly reason?: string;
  readonly by?: string;
  readonly json?: true;
}

/** The exit codes, the worst first. 1 is that of a command that failed, and 4 says that nothing was examined. */
const exitCodes = [
  ["blocks", 2],
  ["refused", 2],
  ["ends", 3],
  ["left", 5],
] as const;
const nothing = 4;
/** The statuses of runs that are parked and do not end. */
const statuses: readonly RunStatus[] = ["queued", "sleeping", "waiting", "retrying", "paused", "blocked"];

export const upgrade = withChoice(
  new Command("upgrade")
    .summary("moves parked runs that fit to another version of their workflow")
    .description(
      `Moves runs that are parked to another version of their workflow: those whose history replays with the code of that
version here, and whose input, signals and open promises fit its contract. All others stay as they are, and it says why. It
reads the database (DATABASE_URL; the role layover_reader suffices), judges on this machine as replay-check does, and asks the
deployment at LAYOVER_URL for each move, with a key of the scope admin. That must carry both versions already.

With --at a deployment judges by the code that it carries, and moves. It has the values and their keys, so this is the way for
encrypted runs. It takes LAYOVER_KEY, with the scopes read and admin, and must mount replayCheck().

It may be stopped and run again at any time: a run that has gone on since it was judged is left.

Exit codes: 0 all were moved, or with --dry-run would be; 2 some do not fit; 3 some would end early; 5 some have gone on meanwhile,
run it again; 4 nothing was examined; 6 another build has answered than --deployment says, or several have; 1 it failed.`,
    )
    .argument("<workflow>", "the workflow's name")
    .argument("[module]", "the module that exports the workflows; functions/workflows, if left out")
    .requiredOption("--from <number>", "the version that the runs have", wholeNumberIn)
    .requiredOption("--to <number>", "the version that they are to have", wholeNumberIn)
    .option(
      "--run <id>",
      "only this run, by layover's id; any number of times",
      (id: string, before: string[] = []) => [...before, id],
    ),
  statuses,
)
  .option("--limit <number>", "look at so many runs at most", wholeNumberIn)
  .option("--dry-run", "say which runs fit, and move none")
  .option("--at <url>", "have the deployment at this address judge by its own code, and move the runs")
  .option("--header <name:value>", "with --at: a further header of its requests; any number of times", headerIn)
  .option("--deployment <id>", "with --at: the id of the build that must judge")
  .option("--reason <text>", "why; it is kept with each run")
  .option("--by <name>", "who asks; your name on this machine, if left out")
  .option("--json", "answer as JSON")
  .addHelpText(
    "after",
    "\nExamples:\n  layover upgrade order --from 1 --to 2 --dry-run\n  layover upgrade order --from 1 --to 2 --tag region:eu --status blocked --reason 'wrong tax'\n  layover upgrade order --from 1 --to 2 --at https://next.example.com/layover",
  )
  .action(async (workflow: string, module: string | undefined, options: Options) => {
    const { from, to, dryRun, json, reason, by = userName() } = options;
    if (from === to) throw new UsageError("--from and --to are the same version.", { hint: "Write --from 1 --to 2." });
    checkPlace(options, module);
    const meant = { ...options, filter: filterOf(workflow, options) };
    const moveWith = (looker: Looker, api: Api | undefined) =>
      moveAll({ looker, from, to, move: api && moverBy(api), terms: { reason, by } }, meant);
    const { told, isStopped } = await withLooker(workflow, module, options, moveWith);
    process.exitCode = isStopped ? 130 : exitCodeOf(told); // 130: as a program that SIGINT ends
    if (json) printJson({ counts: countsOf(told), runs: told });
    else print(linesOf(told, dryRun === true).join("\n"));
    if (isStopped) printAside("It was stopped. To go on: the same command again.");
  });

/** Has `work` look at runs here or at a deployment. It is given no API if nothing is to be moved. */
async function withLooker<Result>(
  workflow: string,
  module: string | undefined,
  { to, at, header, deployment, dryRun }: Options,
  work: (looker: Looker, api: Api | undefined) => Promise<Result>,
): Promise<Result> {
  if (at !== undefined) {
    const place = { url: at, headers: header, deployment };
    return await withJudgeAt(place, (judge) => work(judge, dryRun ? undefined : judge.api));
  }
  const judge = new Judge(module);
  try {
    await judge.begin();
    if (judge.versions[workflow]?.includes(to) !== true) throw notCarried(workflow, to);
    return await withDatabase(async ({ calls }) => {
      const looker = lookerHere(calls, judge);
      return dryRun ? await work(looker, undefined) : await withServer(({ api }) => work(looker, api));
    });
  } finally {
    await judge.end();
  }
}

function notCarried(workflow: string, to: number): UsageError {
  return new UsageError(`This code has no version ${to} of ${workflow}.`, {
    hint: "Name the module that exports it: layover upgrade order src/workflows.ts --from 1 --to 2",
  });
}

function moverBy(api: Api): NonNullable<Mover["move"]> {
  return async (runId, call) => {
    const answer = await api.post(pathOf("v1", "runs", runId, "upgrade"), call);
    return answer as UpgradeReceipt; // as its route answers it
  };
}

function filterOf(workflow: string, { from, status, tag, createdFrom, createdBefore }: Options): WireFilter {
  return filterCall({ workflow, version: from, status, tags: tag, createdFrom, createdBefore });
}

function exitCodeOf(told: readonly Told[]): number {
  if (told.length === 0) return nothing;
  return exitCodes.find(([outcome]) => told.some((one) => one.outcome === outcome))?.[1] ?? 0;
}
