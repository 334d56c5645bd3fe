/** `layover replay-check`: tells before a deploy whether the code fits the runs that are under way. */
import { Command } from "commander";
import type { TerseVerdict } from "../../http/replay-check/judge.ts";
import { withDatabase } from "../database/database.ts";
import { headerIn, wholeNumberIn } from "../runs/arguments.ts";
import { plain, print, printJson } from "../screen.ts";
import { checkPlace, withJudgeAt } from "./at.ts";
import { type Examined, type Examiner, examineAll, examinerHere } from "./examine.ts";
import { Judge } from "./judge.ts";

interface Options {
  readonly workflow?: string;
  readonly version?: number;
  readonly all?: true;
  readonly at?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly deployment?: string;
  readonly json?: true;
}

/** The exit codes. 1 is that of a command that failed. */
const exitCodes = { fits: 0, blocks: 2, ends: 3, nothing: 4 } as const;
const perGroup = 3;

export const replayCheck = new Command("replay-check")
  .summary("tells whether this code fits the runs under way")
  .description(
    `Replays this code over the histories of the runs that are not over, and carries nothing out: no body of a step is
called, and the code gets no fetch, no socket and no timer. It reads the database only, so the role layover_reader
suffices. Runs whose histories have the same places form a group, and three of each group are replayed.

With --at a deployment judges by the code that it carries, such as one that gets no requests yet. It has the values and their
keys, and nothing is read here. It takes LAYOVER_KEY, with the scopes read and admin, and must mount replayCheck().

Exit codes: 0 all fit; 2 some would be blocked; 3 some would end early; 4 nothing was examined; 6 another build has answered than
--deployment says, or several have; 1 it failed.`,
  )
  .argument("[module]", "the module that exports the workflows; functions/workflows, if left out")
  .option("--workflow <name>", "only runs of this workflow")
  .option("--version <number>", "only runs of this version", wholeNumberIn)
  .option("--all", "replay every run of a group")
  .option("--at <url>", "have the deployment at this address judge by its own code, and read nothing here")
  .option("--header <name:value>", "with --at: a further header of its requests; any number of times", headerIn)
  .option("--deployment <id>", "with --at: the id of the build that must judge")
  .option("--json", "answer as JSON")
  .addHelpText(
    "after",
    "\nExamples:\n  layover replay-check\n  layover replay-check src/workflows.ts --workflow order --all\n  layover replay-check --at https://next.example.com/layover --deployment 8c1f",
  )
  .action(async (module: string | undefined, options: Options) => {
    const { workflow, version, all, json, at, header, deployment } = options;
    const filter = { ...(workflow !== undefined && { workflow }), ...(version !== undefined && { version }) };
    const work = (examiner: Examiner) => examineAll(examiner, filter, all ? Number.POSITIVE_INFINITY : perGroup);
    checkPlace(options, module);
    const { build, examined, elsewhere } =
      at === undefined
        ? await examineHere(module, work)
        : await withJudgeAt({ url: at, headers: header, deployment }, work);
    const outcome = outcomeOf(examined);
    process.exitCode = exitCodes[outcome];
    if (json) return printJson({ outcome, deployment: build, ...countsOf(examined), groups: examined.map(asJson) });
    const lines = [...linesOf(examined), ...elsewhereLines(elsewhere), summary(outcome, examined)];
    if (build !== undefined) lines.push(plain(`The code of build ${build.id} of ${build.name} was asked.`));
    print(lines.join("\n"));
  });

async function examineHere<Result>(
  module: string | undefined,
  work: (examiner: Examiner) => Promise<Result>,
): Promise<Result> {
  const judge = new Judge(module);
  try {
    await judge.begin();
    return await withDatabase(({ calls }) => work(examinerHere(calls, judge)));
  } finally {
    await judge.end();
  }
}

type Group = Examined["group"];

function outcomeOf(examined: readonly Examined[]): keyof typeof exitCodes {
  const outcomes = new Set(examined.flatMap(({ verdicts }) => verdicts.map(({ verdict }) => verdict.outcome)));
  if (outcomes.size === 0) return "nothing";
  return outcomes.has("blocks") ? "blocks" : outcomes.has("ends") ? "ends" : "fits";
}

function countsOf(examined: readonly Examined[]): { readonly runs: number; readonly replayed: number } {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
  return {
    runs: sum(examined.map(({ group }) => group.runIds.length)),
    replayed: sum(examined.map(({ verdicts }) => verdicts.length)),
  };
}

function asJson({ group: { workflow, version, runIds }, verdicts }: Examined) {
  const shown = verdicts.map(({ runId, verdict }) => ({ runId, ...verdict }));
  return { workflow, version, runs: runIds.length, verdicts: shown };
}

function linesOf(examined: readonly Examined[]): readonly string[] {
  return examined.flatMap(({ group, verdicts }) => {
    const odd = verdicts.find(({ verdict }) => verdict.outcome !== "fits");
    if (odd === undefined) return [];
    const { runIds, workflow, version } = group;
    const what = odd.verdict.outcome === "blocks" ? "would be blocked" : "would end early";
    return [
      plain(
        `${workflow} version ${version}: ${runIds.length} run${runIds.length === 1 ? "" : "s"} like ${odd.runId} ${what}`,
      ),
      `  ${plain(why(odd.verdict))}`,
    ];
  });
}

function why(verdict: TerseVerdict): string {
  if (verdict.outcome === "fits") return "";
  const lines = verdict.outcome === "blocks" ? verdict.instead.flatMap(({ line }) => line ?? []) : [];
  return `${verdict.reason}${lines.length === 0 ? "" : ` (${lines.join(", ")})`}`;
}

function elsewhereLines(groups: readonly Group[]): readonly string[] {
  const runs = groups.reduce((sum, { runIds }) => sum + runIds.length, 0);
  if (runs === 0) return [];
  const versions = [...new Set(groups.map(({ workflow, version }) => `${workflow} ${version}`))];
  return [plain(`${runs} runs are of versions that this code does not have: ${versions.join(", ")}.`)];
}

function summary(outcome: keyof typeof exitCodes, examined: readonly Examined[]): string {
  if (outcome === "nothing") return "Nothing was examined: no run under way is of a version that this code has.";
  const { runs, replayed } = countsOf(examined);
  const said = { fits: "All fit.", blocks: "Some would be blocked.", ends: "Some would end early." }[outcome];
  return `${said} ${replayed} of ${runs} runs were replayed, in ${examined.length} group${examined.length === 1 ? "" : "s"}.`;
}
