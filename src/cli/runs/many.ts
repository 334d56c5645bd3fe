/** Does to many runs what a person asks: tells how far it is, and how to go on after Ctrl-C. */
import type { LiveFilter, ManyOptions, ManyReceipt } from "../../client/many.ts";
import type { HttpClient } from "../../client/over-http/http-client.ts";
import { LayoverError } from "../../core/errors.ts";
import { endProgress, print, printAside, printJson, printProgress } from "../screen.ts";
import { type FilterOptions, filterOf } from "./filter.ts";
import { withServer } from "./server.ts";

export interface Many {
  readonly dryRun?: boolean | undefined;
  readonly perSecond?: number | undefined;
  /** Id of an act that was begun before. */
  readonly call?: string | undefined;
}

type Verb = "pause" | "resume" | "cancel" | "terminate";

const acts = {
  pause: (client, filter, options) => client.pauseRuns(filter, options),
  resume: (client, filter, options) => client.resumeRuns(filter, options),
  cancel: (client, filter, options) => client.cancelRuns(filter, options),
  terminate: (client, filter, options) => client.terminateRuns(filter, options),
} as const satisfies Record<
  Verb,
  (client: HttpClient, filter: LiveFilter, options: ManyOptions) => Promise<ManyReceipt>
>;

export async function operateMany(
  verb: Verb,
  chosen: FilterOptions,
  { json, call, ...terms }: Many & Pick<ManyOptions, "reason" | "by"> & { readonly json?: true | undefined },
): Promise<void> {
  const isDry = terms.dryRun === true;
  const receipt = await runMany({ json, isDry }, (shared) =>
    withServer(async ({ client }) => {
      const filter = await filterOf(client, chosen);
      return await acts[verb](client, filter, { ...terms, ...shared, callId: call });
    }),
  );
  if (receipt !== undefined && !json) print(lines(verb, receipt, isDry).join("\n"));
}

/** Carries it out, and tells how far it is. With `json` it prints the receipt. Undefined: it was stopped by Ctrl-C. */
export async function runMany<Receipt extends ManyReceipt>(
  { json, isDry }: { readonly json: true | undefined; readonly isDry: boolean },
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
    if (json) printJson(receipt);
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

function lines(verb: Verb, receipt: ManyReceipt, isDry: boolean): readonly string[] {
  const { runs, callId, refused, runIds } = receipt;
  if (runs === 0) return ["No run fits that is not over."];
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
