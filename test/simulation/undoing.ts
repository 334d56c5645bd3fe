/**
 * What must hold of undos. Of the rows after everything that happens: only what the record `ending` lists is undone, one
 * after the other, and nothing else begins. Of the whole at the end: whatever was begun is undone, once, and nothing else is.
 */
import { isDeepStrictEqual } from "node:util";
import { decode } from "../../src/core/codec/codec.ts";
import { readEnding } from "../../src/core/replay/undos.ts";
import { type Account, keyOf } from "./ledger.ts";
import { undoable } from "./programs/invoke.ts";
import { thrownOf } from "./programs/thrown.ts";
import { isCrash, isOver, type RunRows, type StepRow } from "./snapshot.ts";

const prefix = "[undo]/";
const isUndoable = new RegExp(`(^|/)${undoable}#`);

/** The places of the steps that the run undoes, the first one first. Undefined: it has no record `ending`. */
function owedBy({ ending }: RunRows): readonly string[] | undefined {
  return ending === null
    ? undefined
    : readEnding(ending.value).owed.map(({ path, occurrence }) => `${path}#${occurrence}`);
}

/** Answers what an undo of this place is told that it undoes: the key of a step, or the id of an invoked run. */
function undoneAt(run: RunRows, place: string): string {
  return run.children.find((child) => child.place === place)?.runId ?? keyOf(run, place);
}

/** The records of what can be undone: of steps, and of the ends of invoked runs. */
function recordsOf({ steps, invoked }: RunRows): readonly StepRow[] {
  return [...steps, ...invoked];
}

/** Tells whether the undo with this key has ended, so that nobody may carry it out again. */
export function isUndone(run: RunRows, key: string): boolean {
  return undosIn(run).some(({ place }) => keyOf(run, place) === key);
}

function undosIn({ steps }: RunRows): readonly StepRow[] {
  return steps.filter(({ place }) => place.startsWith(prefix));
}

export function* wrongUndos(run: RunRows): Generator<string> {
  const { ending, endings, lastPosition, pending } = run;
  const records = recordsOf(run);
  const undos = undosIn(run);
  const owed = owedBy(run);
  if (endings > 1) yield "it has several records of its ending";
  if (ending === null || owed === undefined) {
    for (const { place } of undos) yield `${place} was recorded, and its ending was not`;
    return;
  }
  const places = owed.map((place) => prefix + place);
  const done = undos.map(({ place }) => place);
  if (!isDeepStrictEqual(done, places.slice(0, done.length)))
    yield `it owes ${owed.join(", ")}, in this order, and has recorded ${done.join(", ")}`;
  if (lastPosition !== ending.position + done.length)
    yield "it has recorded something besides its undos after its ending";
  const next = places[done.length];
  for (const { place } of pending) if (place !== next) yield `it undoes ${next}, and waits for ${place}`;
  const positions = owed.flatMap((place) => records.find((record) => record.place === place)?.position ?? []);
  // A retry puts the undos first that are done.
  if (run.epoch === 0 && positions.some((position, index) => index > 0 && position >= (positions[index - 1] ?? 0)))
    yield `it does not owe first what came last: ${owed.join(", ")}`;
  for (const place of owed)
    if (records.some((record) => record.place === place && record.position <= run.copied))
      yield `it owes ${place}, which it has copied`;
  if (owed.length !== run.undos) yield `it owes ${owed.length} undos, and counts ${run.undos}`;
}

/** `areLeasesCut`: a lease may end before its time. */
export function* wrongEndings(
  before: RunRows,
  run: RunRows,
  { now, areLeasesCut }: { readonly now: number; readonly areLeasesCut: boolean },
): Generator<string> {
  const hasEnded = before.isClosing || before.ending !== null;
  for (const { place, token } of run.pending)
    if (hasEnded && !place.startsWith(prefix) && token !== null)
      if (before.pending.find((row) => row.place === place)?.token !== token)
        yield `its handler had ended, and ${place} began`;
  if (before.ending !== null || run.ending === null || areLeasesCut) return;
  for (const { place, token, leasedUntil, finishedToken } of before.pending)
    if (token !== null && token !== finishedToken && (leasedUntil ?? 0) > now)
      yield `it begins to undo, and the lease of ${place} stands`;
}

export interface Undoing {
  readonly rows: RunRows;
  readonly account: Account;
  /** Whether somebody may have terminated the run. */
  readonly mayBeTerminated: boolean;
  /** Whether two executions may overlap: a lease may end before its time. */
  readonly areLeasesCut: boolean;
  /** Whether nothing went wrong at all. */
  readonly isCalm: boolean;
}

export function* wrongAccount({ rows, account, mayBeTerminated, areLeasesCut, isCalm }: Undoing): Generator<string> {
  const { status, children } = rows;
  const { undone } = account;
  const owed = owedBy(rows) ?? [];
  const keys = owed.map((place) => undoneAt(rows, place));
  const trips = children.filter(({ place }) => isUndoable.test(place)).map(({ runId }) => runId);
  const charged = new Set([...account.charged, ...trips]);
  for (const { of } of undone) if (!keys.includes(of)) yield `the step or run ${of} was undone, and is not owed`;
  for (const place of owed) {
    const mayHaveBegun =
      recordsOf(rows).some((record) => record.place === place) ||
      rows.attempted.includes(place) ||
      rows.isInterrupted ||
      charged.has(undoneAt(rows, place));
    if (!mayHaveBegun) yield `${place} is owed, and never began`;
  }
  const attempts = undone.map(({ key, attempt }) => `${key} ${attempt}`);
  if (isCalm && new Set(attempts).size < attempts.length)
    yield "nothing went wrong, and an attempt of an undo was carried out twice";
  yield* wrongExecutions(rows, account, areLeasesCut);
  if (status !== "failed" && status !== "cancelled") return;
  if (mayBeTerminated && status === "cancelled") return;
  for (const key of charged) if (!keys.includes(key)) yield `it is ${status}, and the step or run ${key} is not owed`;
  const left = owed.slice(undosIn(rows).length);
  if (left.length > 0) yield `it is over, and ${left.join(", ")} are not undone`;
  yield* wrongEnd(rows);
}

/** Each undo is carried out as its step asks for, and none after the one that follows it. */
function* wrongExecutions(rows: RunRows, { undone }: Account, areLeasesCut: boolean): Generator<string> {
  const owed = owedBy(rows) ?? [];
  const order = undone.map(({ of }) => owed.findIndex((place) => undoneAt(rows, place) === of));
  const isBack = order.some((at, index) => index > 0 && at < (order[index - 1] ?? 0));
  if (isBack && !areLeasesCut) yield `its undos were carried out in the order ${order.join()}`;
  for (const { of, outcome, isResultRight } of undone) {
    const place = owed.find((place) => undoneAt(rows, place) === of);
    const record = recordsOf(rows).find((record) => record.place === place);
    const isTimeout = rows.invoked.some((end) => end.place === place && end.isTimeout);
    const right = record?.failure === null && !isTimeout ? "succeeded" : "unknown";
    if (outcome !== right) yield `the undo of ${place} was told "${outcome}", and it is "${right}"`;
    if (!isResultRight) yield `the undo of ${place} was given a wrong result`;
  }
  for (const undo of undosIn(rows)) {
    const { place } = undo;
    const isFailure = undo.failure !== null;
    const executions = undone.filter(({ key }) => key === keyOf(rows, place));
    const mayEnd = executions.some(({ mayFail, isInTrouble }) => (isFailure ? mayFail : !isInTrouble));
    if (!mayEnd && !isCrash(undo)) yield `${place} is recorded as ${isFailure ? "failed" : "done"}, and was not`;
  }
}

/** It ends for the reason for which it began to undo. */
function* wrongEnd(rows: RunRows): Generator<string> {
  const { status, ending, end, failedUndos } = rows;
  if (ending === null || !isOver(rows)) return;
  const { next, error } = readEnding(ending.value);
  if (status !== next) yield `it was to end as ${next}, and is ${status}`;
  const [meant, found] = [error, end ?? ""].map((value) => thrownOf(decode(value)));
  if (meant?.name !== found?.name || meant?.message !== found?.message || meant?.code !== found?.code)
    yield `it was to end with ${meant?.name}: ${meant?.message}, and ended with ${found?.name}: ${found?.message}`;
  const failures = undosIn(rows).filter(({ failure }) => failure !== null).length;
  if (failures !== failedUndos) yield `${failures} of its undos failed, and it counts ${failedUndos}`;
}

/**
 * Judges whether undos can be told the results of invoked runs: a turn that begins to undo must have recorded each end that was
 * there when the turn was claimed. A repair leaves runs behind that an earlier epoch has invoked, so this is asked of the
 * first epoch.
 */
export class ToldEnds {
  /** The invoked runs that were over when the lease of their parent's turn began. */
  readonly #overAtClaim = new Map<string, { readonly token: string | null; readonly over: readonly string[] }>();

  *check(before: RunRows | undefined, run: RunRows): Generator<string> {
    const { runId, token, ending, epoch, invoked } = run;
    const known = this.#overAtClaim.get(runId);
    if (before?.ending === null && ending !== null && epoch === 0 && known?.token === before.token)
      for (const place of known?.over ?? [])
        if (!invoked.some((end) => end.place === place))
          yield `it begins to undo, and has not recorded the end of ${place}`;
    if (token === known?.token) return;
    const over = run.children.filter(({ place, isOver }) => isOver && isUndoable.test(place));
    this.#overAtClaim.set(runId, { token, over: over.map(({ place }) => place) });
  }
}
