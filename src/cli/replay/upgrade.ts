/** `layover upgrade`: moves the parked runs that fit to another version of their workflow, and no others. */
import { Command } from "commander";
import { pathOf } from "../../client/over-http/api.ts";
import type { UpgradeReceipt } from "../../client/over-postgres/upgrades.ts";
import type { Calls } from "../../postgres/calls.ts";
import { withDatabase } from "../database/database.ts";
import { wholeNumberIn } from "../runs/arguments.ts";
import { withServer } from "../runs/server.ts";
import { userName } from "../runs/user-name.ts";
import { endProgress, plain, print, printJson, printProgress } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import { Judge } from "./judge.ts";
import { type Moved, type Mover, moveRun } from "./move-run.ts";

interface Options {
  readonly from: number;
  readonly to: number;
  readonly run?: readonly string[];
  readonly limit?: number;
  readonly dryRun?: true;
  readonly reason?: string;
  readonly by?: string;
  readonly json?: true;
}

/** A run that was looked at, with what was done to it. */
interface Told extends Moved {
  readonly runId: string;
}

/** The exit codes, the worst first. 1 is that of a command that failed, and 4 says that nothing was examined. */
const exitCodes = [
  ["blocks", 2],
  ["refused", 2],
  ["ends", 3],
  ["left", 5],
] as const;
const nothing = 4;
const shownOfEach = 5;

export const upgrade = new Command("upgrade")
  .summary("moves parked runs that fit to another version of their workflow")
  .description(
    `Moves runs that are parked to another version of their workflow: those whose history replays with the code of that
version here, and whose input, signals and open promises fit its contract. All others stay as they are, and it says why. It
reads the database (DATABASE_URL; the role layover_reader suffices), judges on this machine as replay-check does, and asks the
deployment at LAYOVER_URL for each move, with a key of the scope admin. That must carry both versions already.

It may be stopped and run again at any time: a run that has gone on since it was judged is left.

Exit codes: 0 all were moved, or with --dry-run would be; 2 some do not fit; 3 some would end early; 5 some have gone on meanwhile,
run it again; 4 nothing was examined; 1 it failed.`,
  )
  .argument("<workflow>", "the workflow's name")
  .argument("[module]", "the module that exports the workflows; functions/workflows, if left out")
  .requiredOption("--from <number>", "the version that the runs have", wholeNumberIn)
  .requiredOption("--to <number>", "the version that they are to have", wholeNumberIn)
  .option("--run <id>", "only this run, by layover's id; any number of times", (id: string, before: string[] = []) => [
    ...before,
    id,
  ])
  .option("--limit <number>", "look at so many runs at most", wholeNumberIn)
  .option("--dry-run", "say which runs fit, and move none")
  .option("--reason <text>", "why; it is kept with each run")
  .option("--by <name>", "who asks; your name on this machine, if left out")
  .option("--json", "answer as JSON")
  .addHelpText(
    "after",
    "\nExamples:\n  layover upgrade order --from 1 --to 2 --dry-run\n  layover upgrade order --from 1 --to 2 --reason 'wrong tax'",
  )
  .action(async (workflow: string, module: string | undefined, options: Options) => {
    const { from, to, dryRun, json, reason, by = userName() } = options;
    if (from === to) throw new UsageError("--from and --to are the same version.", { hint: "Write --from 1 --to 2." });
    const judge = new Judge(module);
    try {
      await judge.begin();
      if (judge.versions[workflow]?.includes(to) !== true) {
        throw new UsageError(`This code has no version ${to} of ${workflow}.`, {
          hint: "Name the module that exports it: layover upgrade order src/workflows.ts --from 1 --to 2",
        });
      }
      const terms = { reason, by };
      const told = await withDatabase(async ({ calls }) => {
        const upgradeAll = (move: Mover["move"]) =>
          moveAll({ calls, judge, from, to, move, terms }, runsOf(calls, workflow, options));
        if (dryRun) return await upgradeAll(undefined);
        return await withServer(({ api }) =>
          upgradeAll(async (runId, call) => {
            const answer = await api.post(pathOf("v1", "runs", runId, "upgrade"), call);
            return answer as UpgradeReceipt; // as its route answers it
          }),
        );
      });
      process.exitCode = exitCodeOf(told);
      if (json) printJson({ counts: countsOf(told), runs: told });
      else print(linesOf(told, dryRun === true).join("\n"));
    } finally {
      await judge.end();
    }
  });

/** Finds the runs that were asked for, newest first. */
async function* runsOf(
  calls: Pick<Calls, "listParked">,
  workflow: string,
  { from: version, run, limit = Number.POSITIVE_INFINITY }: Options,
): AsyncGenerator<string> {
  let count = 0;
  for (let before: string | null | undefined; before !== null; ) {
    const page = await calls.listParked({ workflow, version, ...(before !== undefined && { before }) });
    for (const { runId } of page.runs) {
      if (run !== undefined && !run.includes(runId)) continue;
      count += 1;
      if (count > limit) return;
      yield runId;
    }
    before = page.next;
  }
}

async function moveAll(mover: Mover, runIds: AsyncIterable<string>): Promise<readonly Told[]> {
  const told: Told[] = [];
  for await (const runId of runIds) {
    const moved = await moveRun(mover, runId);
    if (moved !== undefined) told.push({ runId, ...moved });
    if (told.length % 100 === 0) printProgress(toldOf(told));
  }
  endProgress();
  return told;
}

function exitCodeOf(told: readonly Told[]): number {
  if (told.length === 0) return nothing;
  return exitCodes.find(([outcome]) => told.some((one) => one.outcome === outcome))?.[1] ?? 0;
}

const words = {
  moved: "moved",
  fits: "fit",
  refused: "refused by the version's contract",
  blocks: "would be blocked",
  ends: "would end early",
  left: "left, since they have gone on",
} as const;

function countsOf(told: readonly Told[]): Readonly<Partial<Record<Moved["outcome"], number>>> {
  const counts: Partial<Record<Moved["outcome"], number>> = {};
  for (const { outcome } of told) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

function toldOf(told: readonly Told[]): string {
  const counts = countsOf(told);
  const parts = Object.entries(words).flatMap(([outcome, word]) => {
    const count = counts[outcome as Moved["outcome"]]; // a key of `words` is one
    return count === undefined ? [] : [`${count} ${word}`];
  });
  return `${told.length} run${told.length === 1 ? "" : "s"}: ${parts.join(", ")}`;
}

function linesOf(told: readonly Told[], isDry: boolean): readonly string[] {
  if (told.length === 0) return ["Nothing was examined: no run under way is of that version."];
  const odd = new Map<string, string[]>();
  for (const { runId, reason } of told) if (reason !== undefined) odd.set(reason, [...(odd.get(reason) ?? []), runId]);
  return [
    `${toldOf(told)}.`,
    ...[...odd].flatMap(([reason, runIds]) => [
      plain(reason),
      ...runIds.slice(0, shownOfEach).map((runId) => `  ${runId}`),
      ...(runIds.length > shownOfEach ? [`  … ${runIds.length} in all`] : []),
    ]),
    ...(isDry ? ["Nothing was moved."] : []),
  ];
}
