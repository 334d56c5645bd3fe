/** Does to many runs what a person asks: says how many and asks first, tells how far it is, and how to go on after Ctrl-C. */
import type { Command } from "commander";
import type { RunFilter } from "../../client/filter.ts";
import type { ManyOptions, ManyReceipt } from "../../client/many.ts";
import type { HttpClient } from "../../client/over-http/http-client.ts";
import type { RunStatus } from "../../client/run-view.ts";
import { LayoverError } from "../../core/errors.ts";
import { confirm } from "../confirm.ts";
import { endProgress, print, printAside, printJson, printProgress } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import { wholeNumberIn } from "./arguments.ts";
import { type FilterOptions, filterOf, withEnded, withFilter } from "./filter.ts";
import { withServer } from "./server.ts";

export interface Many extends FilterOptions {
  readonly dryRun?: true | undefined;
  readonly perSecond?: number | undefined;
  /** Id of an act that was begun before. */
  readonly call?: string | undefined;
  readonly yes?: true | undefined;
}

/** Adds the options by which a command means many runs. `isOfEnded`: those that are over may be meant. */
export function withMany(command: Command, statuses: readonly RunStatus[], { isOfEnded = false } = {}): Command {
  const filtered = withFilter(command, statuses);
  return (isOfEnded ? withEnded(filtered) : filtered)
    .option("--dry-run", "only tell which runs are meant")
    .option("--per-second <number>", "how many runs a second, up to 10000. Default: 100", wholeNumberIn)
    .option("--call <id>", "go on with the act on many runs that told this id")
    .option("--yes", "do not ask");
}

/** Undefined: one run is named. @throws UsageError unless one run is named, or many are chosen by options */
export function manyOf(
  verb: string,
  run: string | undefined,
  { dryRun, perSecond, call, yes, ...options }: Many,
): Many | undefined {
  const { workflow, version, status, tag, parent, createdFrom, createdBefore, endedFrom, endedBefore } = options;
  const chosen = { workflow, version, status, tag, parent, createdFrom, createdBefore, endedFrom, endedBefore };
  const isGiven = (option: unknown) => option !== undefined;
  const isFiltered = Object.values(chosen).some(isGiven);
  if (run === undefined && isFiltered) return { ...chosen, dryRun, perSecond, call, yes };
  const isOfMany = [dryRun, perSecond, call].some(isGiven);
  if (run !== undefined && !isFiltered && !isOfMany) return undefined;
  if (run !== undefined && !isFiltered) {
    throw new UsageError("--dry-run, --per-second and --call are for many runs, and here one run is named.", {
      hint: `Leave them out, or write layover ${verb} --workflow order. layover ${verb} --help says what there is.`,
    });
  }
  throw new UsageError("Name one run, or say by options such as --workflow which runs are meant.", {
    hint: `Write layover ${verb} order/o1, or layover ${verb} --workflow order. layover ${verb} --help says what there is.`,
  });
}

export interface ActOnMany extends Pick<ManyOptions, "reason" | "by"> {
  readonly verb: string;
  /** The verb as a dry run says it of the runs: "paused". */
  readonly done: string;
  readonly act: (client: HttpClient, filter: RunFilter, options: ManyOptions) => Promise<ManyReceipt>;
  readonly json: true | undefined;
}

export async function operateMany(
  { verb, done, act, json, reason, by }: ActOnMany,
  { dryRun, perSecond, call, yes, ...chosen }: Many,
): Promise<ManyReceipt | undefined> {
  const carryOut = (terms: ManyOptions) =>
    runMany({ isDry: terms.dryRun === true }, (shared) =>
      withServer(async ({ client }) => {
        const filter = await filterOf(client, chosen);
        return await act(client, filter, { reason, by, perSecond, ...terms, ...shared });
      }),
    );
  const asks = !dryRun && !yes && call === undefined;
  const meant = asks ? await carryOut({ dryRun: true }) : undefined;
  if (asks && meant === undefined) return undefined;
  if (meant !== undefined && meant.runs > 0) {
    await confirm(`${countOf(meant.runs)}: ${toldOf(meant)}. They would be ${done}.`, `${verb} …`);
  }
  const isNothing = meant?.runs === 0;
  const receipt = isNothing ? meant : await carryOut({ dryRun, callId: call ?? meant?.callId });
  if (receipt === undefined) return undefined;
  if (json) printJson(receipt);
  else print(lines(verb, receipt, dryRun === true).join("\n"));
  return receipt;
}

/** Carries it out, and tells how far it is. Undefined: it was stopped by Ctrl-C. */
export async function runMany<Receipt extends ManyReceipt>(
  { isDry }: { readonly isDry: boolean },
  act: (terms: Pick<ManyOptions, "onProgress" | "abortSignal">) => Promise<Receipt>,
): Promise<Receipt | undefined> {
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  let soFar: ManyReceipt | undefined;
  const onProgress = (receipt: ManyReceipt) => {
    soFar = receipt;
    printProgress(`${countOf(receipt.runs)}, ${toldOf(receipt)}`);
  };
  process.once("SIGINT", onInterrupt);
  try {
    const receipt = await act({ onProgress, abortSignal: stop.signal });
    endProgress();
    return receipt;
  } catch (error) {
    endProgress();
    if (soFar !== undefined && !isDry) printAside(toGoOn(soFar));
    if (!stop.signal.aborted || error instanceof LayoverError) throw error;
    process.exitCode = 130; // as a program that SIGINT ends
    return undefined;
  } finally {
    process.off("SIGINT", onInterrupt);
  }
}

function toGoOn({ callId, runs }: ManyReceipt): string {
  return `It ended after ${countOf(runs)}. To go on: the same command with --call ${callId}`;
}

function lines(verb: string, receipt: ManyReceipt, isDry: boolean): readonly string[] {
  const { runs, callId, refused, runIds } = receipt;
  if (runs === 0) return ["No run fits."];
  if (isDry) {
    return [
      `${countOf(runs)}: ${toldOf(receipt)}.`,
      ...runIds,
      ...(runs > runIds.length ? ["…"] : []),
      `Nothing was done. To ${verb} these and no newer ones: the same command with --call ${callId} instead of --dry-run`,
    ];
  }
  return [
    `${countOf(runs)}: ${toldOf(receipt)}.`,
    ...refused.flatMap(({ code, runs, runIds }) => [
      `Refused, as ${code}: ${countOf(runs)}.`,
      ...runIds.map((runId) => `  ${runId}`),
      ...(runs > runIds.length ? ["  …"] : []),
    ]),
  ];
}

/** "12 cancelling, 3 refused" */
export function toldOf({ outcomes, statuses, refused }: ManyReceipt): string {
  const refusals = refused.reduce((sum, { runs }) => sum + runs, 0);
  const told = [
    ...Object.entries(outcomes),
    ...Object.entries(statuses),
    ...(refusals > 0 ? [["refused", refusals]] : []),
  ];
  return told.map(([name, count]) => `${count} ${name}`).join(", ") || "none yet";
}

function countOf(runs: number): string {
  return runs === 1 ? "1 run" : `${runs} runs`;
}
