/** A run's history as a file: what a replay needs, of the run's newest epoch. */
import { LayoverError } from "../core/errors.ts";
import type { ReplayPage, ReplayRest, WireTake } from "../postgres/wire-replay.ts";

/** The format of the file. It is raised when files of before cannot be read any more. */
export const exportFormat = 1;

/**
 * A run as `layover export` writes it. Values are in the codec's text, as the database has them. Instants are epoch
 * milliseconds.
 */
export interface ExportedRun extends ReplayRest, Pick<ReplayPage, "runId" | "epoch" | "position" | "handedPosition"> {
  readonly kind: "layover-run";
  readonly format: typeof exportFormat;
  readonly exportedAt: number;
  /** [kind, path, occurrence, isFailure, value, recordedAt, attempts] */
  readonly records: ReplayPage["records"];
  /** The signals that it took. */
  readonly takes: readonly WireTake[];
}

const mostTries = 5;

/**
 * Reads all pages of a run. `ask` answers the page after a position. If the run goes on meanwhile, it is read anew, at
 * most five times.
 *
 * @throws LayoverError `not_applicable` if it goes on again and again
 */
export async function readExport(ask: (after: number) => Promise<ReplayPage>): Promise<ExportedRun> {
  for (let tries = 1; tries <= mostTries; tries += 1) {
    const whole = await readPages(ask);
    if (whole !== undefined) return whole;
  }
  throw new LayoverError("not_applicable", "the run went on while its history was read", {
    hint: "Pause it first, or try again when it waits.",
  });
}

async function readPages(ask: (after: number) => Promise<ReplayPage>): Promise<ExportedRun | undefined> {
  const first = await ask(0);
  const { runId, epoch, turn, position, handedPosition, now, rest } = first;
  if (rest === null) throw new Error(`the first page of run ${runId} has no input`);
  const records = [...first.records];
  const takes = [...first.takes];
  while (records.length < position) {
    const page = await ask(records.length);
    if (page.epoch !== epoch || page.turn !== turn || page.position !== position) return undefined;
    if (page.records.length === 0) throw new Error(`the records of run ${runId} after ${records.length} are not there`);
    records.push(...page.records);
    takes.push(...page.takes);
  }
  const facts = { runId, epoch, position, handedPosition, ...rest };
  return { kind: "layover-run", format: exportFormat, exportedAt: now, ...facts, records, takes };
}

/** Tells whether this is what `layover export` wrote. @throws LayoverError `invalid_request` */
export function checkExport(value: unknown): ExportedRun {
  const isOurs = typeof value === "object" && value !== null && "kind" in value && value.kind === "layover-run";
  if (!isOurs || !("format" in value)) {
    throw new LayoverError("invalid_request", "this is no exported run", {
      hint: "Give the file that `layover export RUN` has written, or what it holds.",
    });
  }
  if (value.format !== exportFormat) {
    throw new LayoverError(
      "invalid_request",
      `the exported run has the format ${String(value.format)}, and this release reads ${exportFormat}`,
      { hint: "Export the run again, or read it with the release that wrote it." },
    );
  }
  return value as ExportedRun; // the kind and the format say that readExport made it
}
