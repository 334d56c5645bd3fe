/** A run's history as lines, in order of time: what is recorded, what failed on the way, and what comes next. */
import { styleText } from "node:util";
import type {
  AttemptView,
  EpochView,
  HistoryView,
  OperationView,
  PendingView,
  RecordView,
  StepPlace,
} from "../../client/history-view.ts";
import { isOver, type RunView } from "../../client/run-view.ts";
import { isErrorValue, undonePath } from "../../client/undo-view.ts";
import { isRecord } from "../../core/codec/tag-checks.ts";
import { latestRingMs } from "../../core/waking.ts";
import { type Cell, plain, table } from "../screen.ts";
import { clockTime, fromNow, lasting, moment } from "../times.ts";
import { describeError, describeValue } from "./values.ts";

interface Terms {
  readonly now: Date;
  readonly width: number;
}

interface Line {
  /** Undefined: now. */
  readonly at?: Date;
  readonly mark: Cell;
  readonly what: string;
  readonly took?: string;
  readonly value: string;
}

const mostEpochs = 20;

const done: Cell = { text: "✓", style: (text) => styleText("green", text) };
const failed: Cell = { text: "✗", style: (text) => styleText("red", text) };
const underWay: Cell = { text: "▶", style: (text) => styleText("cyan", text) };
const ended: Cell = { text: "–", style: (text) => styleText("dim", text) };
const operated: Cell = { text: "●", style: (text) => styleText("yellow", text) };
const still: Cell = { text: "…", style: (text) => styleText("blue", text) };

export function timeline(run: RunView, history: HistoryView, { now, width }: Terms): string {
  const { records, attempts, pending } = history;
  const [first] = records;
  const skipped = first === undefined ? 0 : first.position - 1;
  const isLaterThan = (at: Date) => skipped === 0 || (first !== undefined && at >= first.recordedAt);
  const isShown = ({ endedAt }: AttemptView) => isLaterThan(endedAt);
  const isLater = ({ at }: OperationView) => isLaterThan(at);
  const isOfUndo = ({ path }: StepPlace) => undonePath(path) !== undefined;
  const ending = records.findIndex(({ kind }) => kind === "ending");
  const firstUndo = ending === -1 ? records.length : ending + 1;
  // The sort keeps this order among lines of the same millisecond: an operation stands above the records that it led to,
  // and an attempt above the record of its step.
  const past = [
    ...operationsOf(history).filter(isLater).map(operationLine),
    ...epochsOf(history).map((epoch) => epochLine(epoch, now)),
    ...attempts.filter((attempt) => isShown(attempt) && !isOfUndo(attempt)).map(attemptLine),
    ...records.slice(0, firstUndo).map((record) => recordLine(record, width)),
    ...attempts.filter((attempt) => isShown(attempt) && isOfUndo(attempt)).map(attemptLine),
    ...records.slice(firstUndo).map((record) => recordLine(record, width)),
  ];
  past.sort((one, other) => (one.at?.getTime() ?? 0) - (other.at?.getTime() ?? 0));
  const next = isOver(run.status) ? [] : [...pending.map((row) => pendingLine(row, now)), ...turnLines(run, now)];
  const days = new Set([...past.map(({ at = now }) => at), now].map((at) => clockTime(at).slice(0, 10)));
  const shownTime = (at: Date) => clockTime(at).slice(days.size > 1 ? 0 : 11);
  const rows = [...past, ...next].map(({ at, mark, what, took = "", value }) => [
    at === undefined ? "now" : shownTime(at),
    mark,
    what,
    took,
    { text: value, wraps: mark !== done },
  ]);
  if (rows.length === 0) return "Nothing has happened yet.";
  const earlier = skipped > 0 ? `(${skipped} earlier records: layover show ${plain(run.runId)} --full)\n` : "";
  return earlier + table(columns, rows, width).split("\n").slice(1).join("\n");
}

/** The columns. They have no titles, since the lines need none. */
const columns = [
  { title: "", isWhole: true },
  { title: "", isWhole: true },
  { title: "" },
  { title: "", isWhole: true },
  { title: "" },
];

function recordLine(record: RecordView, width: number): Line {
  const { kind, attempts, isFailure, isGiven, givenBy, value, childRunId, beganAt, recordedAt } = record;
  const shown = isFailure ? describeError(errorIn(value)) : describeValue(value, width);
  const remarks = [
    ...(isFailure && undonePath(record.path) !== undefined ? ["failed for good"] : []),
    ...(kind === "step" && attempts > 1 ? [`after ${attempts} attempts`] : []),
    ...(isGiven ? [givenBy === undefined ? "given by somebody" : `given by ${plain(givenBy)}`] : []),
    ...(kind === "child" && childRunId !== undefined ? [`run ${childRunId}`] : []),
  ].join(", ");
  if (record.hasTimedOut)
    return {
      at: recordedAt,
      mark: ended,
      what: `${kind === "child" ? "invoke" : kind} ${placeOf(record)}`,
      value: "timed out",
    };
  if (kind === "close") {
    const is = value === true ? "closed: no more is taken" : "not closed: there was mail";
    return { at: recordedAt, mark: done, what: `close ${placeOf(record)}`, value: is };
  }
  if (kind === "ending") return { at: recordedAt, mark: ended, what: "ending", value: describeEnding(value) };
  if (kind === "closing") return { at: recordedAt, mark: ended, what: "closing", value: shown };
  if (kind === "cancellation") return { at: recordedAt, mark: failed, what: "cancelled", value: "" };
  return {
    at: recordedAt,
    mark: isFailure ? failed : done,
    what: kind === "step" ? stepOf(record) : `${kind === "child" ? "invoke" : kind} ${placeOf(record)}`,
    took: beganAt === undefined ? "" : lasting(recordedAt.getTime() - beganAt.getTime()),
    value: remarks === "" ? shown : `${remarks}: ${shown}`,
  };
}

function errorIn(value: unknown) {
  return isErrorValue(value) ? value : undefined;
}

/** "as failed, after 2 undos: Error: no" */
function describeEnding(value: unknown): string {
  if (!isRecord(value) || !Array.isArray(value["owed"])) return describeValue(value, Number.POSITIVE_INFINITY);
  const { length } = value["owed"];
  const undos = length === 1 ? "1 undo" : `${length} undos`;
  return `as ${plain(String(value["next"]))}, after ${undos}: ${describeError(errorIn(value["error"]))}`;
}

function attemptLine(attempt: AttemptView): Line {
  const { number, beganAt, endedAt, error, requestId } = attempt;
  const request = requestId === undefined ? "" : ` (request ${requestId})`;
  const undone = undonePath(attempt.path);
  const what = `attempt ${number} of ${undone === undefined ? "" : "the undo of "}${placeOf(attempt)}`;
  if (error?.code === "interrupted")
    return { at: endedAt, mark: ended, what, value: `interrupted: ${plain(error.message)}` };
  const took = lasting(endedAt.getTime() - beganAt.getTime());
  return { at: endedAt, mark: failed, what, took, value: `${describeError(error)}${request}` };
}

/** The operations of people. A server of an earlier release does not tell them. */
function operationsOf({ operations = [] }: Partial<Pick<HistoryView, "operations">>): HistoryView["operations"] {
  return operations;
}

/** The epochs up to the one that is shown. A server of an earlier release does not tell them. */
function epochsOf({ epoch = 0, epochs = [] }: Partial<HistoryView>): HistoryView["epochs"] {
  return epochs.filter((one) => one.epoch <= epoch).slice(-mostEpochs);
}

/** "epoch 2  restarted, with 4 records of the epoch before" */
function epochLine({ epoch, why, beganAt, kept }: EpochView, now: Date): Line {
  const records = kept === 1 ? "1 record" : `${kept} records`;
  const slowed = beganAt > now ? `. It begins ${moment(beganAt, now)}, since its laps wait for nothing` : "";
  const value = why === "continued" ? `continued as new${slowed}` : `${why}, with ${records} of before`;
  return { at: beganAt, mark: ended, what: `epoch ${epoch}`, value };
}

function operationLine({ verb, by, reason, at, verdict }: OperationView): Line {
  const refused = refusals.get(verdict) ?? "";
  const value = [refused, reason ?? ""].filter((text) => text !== "").join(": ");
  return { at, mark: operated, what: by === undefined ? verb : `${verb} by ${by}`, value };
}

/** What became of an act that did nothing. */
const refusals: ReadonlyMap<string, string> = new Map([
  ["not_applicable", "refused, since it did not apply"],
  ["closing", "refused, since the run was closing by then"],
  ["at_work", "refused, since a step was at work"],
  ["epoch_changed", "refused, since another epoch had begun"],
  ["unknown_place", "refused, since the run had not come to that place"],
  ["compensated", "refused, since a step was undone"],
  ["would_repeat", "refused, since what had succeeded or was asked cannot be kept"],
  ["child_failed", "refused, since a run that it waits for has failed"],
  ["result_needed", "refused, since a result was lost"],
]);

function pendingLine(row: PendingView, now: Date): Line {
  const place = placeOf(row);
  const failures = row.attempts === 0 ? "" : `, ${row.attempts} ${row.attempts === 1 ? "attempt" : "attempts"} failed`;
  const limit = row.until === undefined ? "for ever" : `until ${clockTime(row.until)} (${fromNow(row.until, now)})`;
  switch (row.kind) {
    case "sleep":
      return { mark: still, what: `sleep ${place}`, value: limit };
    case "signal":
      return {
        mark: still,
        what: `wait ${place}`,
        value: `for the signal ${JSON.stringify(row.signal ?? "")}, ${limit}`,
      };
    case "callback":
      return { mark: still, what: `wait ${place}`, value: `for its callback, ${limit}` };
    case "child":
      return { mark: still, what: `invoke ${place}`, value: `for the end of run ${row.childRunId ?? ""}, ${limit}` };
    case "retry":
    case "branch":
      break;
  }
  if (row.leasedUntil !== undefined) {
    const value = `${lease(row.leasedUntil, now)}${failures}${interruptions(row)}`;
    return { mark: underWay, what: stepOf(row), value };
  }
  if (row.isQueued) return { mark: still, what: stepOf(row), value: "queued: its map is at its maxConcurrency" };
  const isLater = row.readyAt !== undefined && row.readyAt > now;
  return {
    mark: still,
    what: stepOf(row),
    value: `${isLater ? `is tried again ${moment(row.readyAt, now)}` : "is ready"}${failures}${interruptions(row)}`,
  };
}

/** Makes the lines about a turn of the run itself, which has no row in `pending`. */
function turnLines(run: RunView, now: Date): readonly Line[] {
  const { status, turn, dueAt, leasedUntil } = run;
  if (leasedUntil !== undefined) {
    return [{ mark: underWay, what: `turn ${turn}`, value: `${lease(leasedUntil, now)}${interruptions(run)}` }];
  }
  if (status !== "queued") return [];
  const isOverdue = dueAt !== undefined && now.getTime() - dueAt.getTime() > latestRingMs;
  const looked =
    dueAt === undefined ? "" : `; the scheduler ${isOverdue ? "was to look" : "looks"} ${moment(dueAt, now)}`;
  const advice = isOverdue ? ": layover doctor finds out why it did not" : "";
  return [{ mark: still, what: `turn ${turn}`, value: `ready to be carried out${looked}${advice}` }];
}

/** Says how many turns were interrupted. A server of an earlier release does not tell it. */
function interruptions({ interrupted = 0 }: Partial<Pick<RunView, "interrupted">>): string {
  if (interrupted === 0) return "";
  return `, ${interrupted === 1 ? "an earlier try" : `${interrupted} earlier tries`} ended without a result: the process died`;
}

function lease(until: Date, now: Date): string {
  return `under way; its lease ${until < now ? "ended" : "stands until"} ${clockTime(until)} (${fromNow(until, now)})`;
}

/** `step ship[3]/send`, and `undo ship[3]/send` where it undoes that step. */
function stepOf(place: StepPlace): string {
  return `${undonePath(place.path) === undefined ? "step" : "undo"} ${placeOf(place)}`;
}

/** `ship[3]/send`, and `#2` where it is a second one of that name. An undo has the place of its step. */
function placeOf({ path, occurrence }: StepPlace): string {
  const shown = undonePath(path) ?? path;
  return plain(occurrence > 1 ? `${shown}#${occurrence}` : shown);
}
