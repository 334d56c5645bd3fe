/** What a turn did not know when it finished: what came meanwhile, a timeout that has passed, a lease that was lost. */
import type { FinishBranch, FinishRun } from "../../src/postgres/wire.ts";
import { isLive, isSamePlace } from "./rules.ts";
import type { Place, Run } from "./run.ts";

export const superseded = { outcome: "superseded" };

/** Whether mail of a name that it closes is there and not taken by it, or the answer whose announcement it says has failed. */
export function hasCome(run: Run, { closes = [], announces, records = [] }: FinishRun): boolean {
  const isLeft = ({ name, number, takenAt }: Run["signals"][number]) =>
    closes.includes(name) && takenAt === undefined && !records.some(({ signal }) => signal === number);
  return run.signals.some(isLeft) || (announces !== undefined && run.answers.some((it) => isUntaken(it, announces)));
}

function isUntaken(answer: Run["answers"][number], place: Place): boolean {
  return answer.takenAt === undefined && isSamePlace(answer, place);
}

export function isEnd(next: FinishRun["next"]): boolean {
  return next === "completed" || next === "failed" || next === "cancelled";
}

/** A run whose last record came after its timeout, or whose cancel was asked for, does not end: that is to be recorded first. */
export function isPastTimeout(run: Run, { next, records = [], ending, closing }: FinishRun): boolean {
  const ends = isEnd(next) || ending !== undefined || closing === true;
  if (!ends || run.cancelledPosition !== undefined || run.ending !== undefined) return false;
  if (run.cancel !== undefined) return true;
  if (run.timeoutAt === undefined) return false;
  return (records.at(-1)?.at ?? run.lastRecordAt) > run.timeoutAt;
}

/** Whether the handler has failed by what its turn saw, and by nothing that is dropped where the finish is deferred. */
export function endsSurely(run: Run, f: FinishRun): boolean {
  const { next, ending, closing, records = [], attempt, closes, announces } = f;
  if (next !== "failed" && next !== "cancelled" && ending === undefined && closing !== true) return false;
  const hasMore =
    records.length > Number(ending !== undefined) || [attempt, closes, announces].some((it) => it !== undefined);
  return run.ending === undefined && !hasMore && !isPastTimeout(run, f);
}

/** Whether a finish is stored without its record of the ending: somebody is at work still, or the run was to end otherwise. */
export function isEndingRefused(run: Run, f: FinishRun, now: number): boolean {
  return f.ending !== undefined && (run.rows.some(({ lease }) => isLive(lease, now)) || isPastTimeout(run, f));
}

export function withoutEnding({ ending, closing: _, cleansUp: __, claim, records = [], ...f }: FinishRun): FinishRun {
  if (ending === undefined) return { ...f, records, ...(claim !== undefined && { claim }) };
  return { ...f, records: records.slice(0, -1) };
}

/** An announcement that failed has succeeded, if somebody answered. */
export function settleAnnouncement(run: Run, f: FinishBranch): FinishBranch {
  const { announces, attempt, ...others } = f;
  if (announces === undefined || attempt === undefined) return f;
  if (!run.answers.some((answer) => isUntaken(answer, announces))) return f;
  const { beganAt, endedAt: at, number: attempts } = attempt;
  return { ...others, record: { value: '1{"$":"undefined"}', isFailure: false, at, beganAt, attempts } };
}
