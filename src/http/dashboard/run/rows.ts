/**
 * The rows of a run's timeline: what is recorded, what failed on the way and what is waited for, by place. Places inside a
 * scope or a map (`ship[3]/send`) stand below a row of their own for it.
 */
import type { AttemptView, HistoryView, PendingView, RecordView, StepPlace } from "../../../client/history-view.ts";
import type { RunView } from "../../../client/run-view.ts";
import { undonePath } from "../../../client/undo-view.ts";

/** A row of the timeline. Its bar goes from `from` to `to`, in epoch milliseconds. */
export interface Row {
  readonly label: string;
  readonly depth: number;
  readonly from: number;
  readonly to: number;
  readonly look: "done" | "failed" | "open" | "wait" | "group";
  readonly attempts: readonly AttemptView[];
  readonly record?: RecordView;
  readonly pending?: PendingView;
}

export interface Timeline {
  readonly rows: readonly Row[];
  readonly from: number;
  readonly to: number;
}

interface Item {
  readonly path: string;
  readonly occurrence: number;
  record?: RecordView;
  pending?: PendingView;
  attempts: AttemptView[];
}

const mostDepth = 4;
const waits = ["sleep", "signal", "callback", "child"];

/** Makes the rows of one page of the history. `nowMs`: until when what is under way has taken. */
export function timelineOf(run: RunView, history: HistoryView, nowMs: number): Timeline {
  const { records, next } = history;
  const isLast = next === undefined && history.epoch === run.epoch;
  const begins = beginnings(run, history);
  const items = itemsOf(history, isLast);
  const end = isLast ? (run.endedAt?.getTime() ?? nowMs) : (records.at(-1)?.recordedAt.getTime() ?? nowMs);
  const rows = treeOf(items).flatMap((node) => rowsOf(node, { begins, end, depth: 0 }));
  const from = Math.min(begins(records[0]), ...rows.map((row) => row.from));
  return { rows, from, to: Math.max(end, from + 1, ...rows.map((row) => row.to)) };
}

/** Says when a wait began: when the record before it was made. A row of the history does not tell it. */
function beginnings(run: RunView, { records, epoch, epochs }: HistoryView): (record: RecordView | undefined) => number {
  const began = epochs.find((one) => one.epoch === epoch)?.beganAt ?? run.createdAt;
  const [first] = records;
  const start = first === undefined || first.position === 1 ? began.getTime() : first.recordedAt.getTime();
  const recorded = new Map(records.map(({ position, recordedAt }) => [position, recordedAt.getTime()]));
  const last = records.at(-1)?.position ?? 0;
  return (record) => record?.beganAt?.getTime() ?? recorded.get((record?.position ?? last + 1) - 1) ?? start;
}

function itemsOf({ records, attempts, pending }: HistoryView, isLast: boolean): readonly Item[] {
  const items = new Map<string, Item>();
  const at = ({ path, occurrence }: StepPlace): Item => {
    const key = JSON.stringify([path, occurrence]);
    const item = items.get(key) ?? { path, occurrence, attempts: [] };
    items.set(key, item);
    return item;
  };
  for (const record of records) at(record).record = record;
  if (isLast) for (const row of pending) at(row).pending = row;
  for (const attempt of attempts) {
    const known = items.get(JSON.stringify([attempt.path, attempt.occurrence]));
    if (known !== undefined) known.attempts.push(attempt);
    else if (isLast && !isRecordedElsewhere(attempt, records)) at(attempt).attempts.push(attempt);
  }
  return [...items.values()];
}

/** Whether the attempt is of a step on an earlier page. */
function isRecordedElsewhere({ endedAt }: AttemptView, [first]: HistoryView["records"]): boolean {
  return first !== undefined && first.position > 1 && endedAt < first.recordedAt;
}

/** A scope with what is inside it, or a place. */
interface Node {
  readonly name: string;
  readonly item?: Item;
  readonly inside: readonly Node[];
}

function treeOf(items: readonly Item[], depth = 0): readonly Node[] {
  const byName = Map.groupBy(items, (item) => nameAt(item, depth));
  return [...byName].flatMap(([name, group]): readonly Node[] => {
    const own = group.filter(({ path }) => segments(path).length <= depth + 1);
    const inner = group.filter(({ path }) => segments(path).length > depth + 1);
    const leaves = own.map((item): Node => ({ name: placed(name, item), item, inside: [] }));
    if (inner.length === 0) return leaves;
    const inside = treeOf(inner, depth + 1);
    const [only, ...others] = inside;
    // A scope with one place in it needs no row of its own.
    if (only !== undefined && others.length === 0) return [...leaves, { ...only, name: `${name}/${only.name}` }];
    return [...leaves, { name, inside }];
  });
}

/** The path without the mark of an undo: the undo of a step stands where the step does, after it. */
function segments(path: string): readonly string[] {
  const undone = undonePath(path);
  return (undone ?? path).split("/");
}

function nameAt({ path }: Item, depth: number): string {
  const name = segments(path)[depth] ?? "";
  return undonePath(path) === undefined ? name : `undo of ${name}`;
}

function placed(name: string, { occurrence, record }: Item): string {
  const own = name === "" ? (record?.kind ?? "") : name;
  return occurrence > 1 ? `${own}#${occurrence}` : own;
}

interface RowTerms {
  readonly begins: (record: RecordView | undefined) => number;
  readonly end: number;
  readonly depth: number;
}

function rowsOf({ name, item, inside }: Node, terms: RowTerms): readonly Row[] {
  const { depth } = terms;
  if (item !== undefined) return [rowOf(name, item, terms)];
  const rows = inside.flatMap((node) => rowsOf(node, { ...terms, depth: Math.min(depth + 1, mostDepth) }));
  const from = Math.min(...rows.map((row) => row.from));
  const to = Math.max(...rows.map((row) => row.to));
  return [{ label: name, depth, from, to, look: "group", attempts: [] }, ...rows];
}

function rowOf(label: string, { record, pending, attempts }: Item, { begins, end, depth }: RowTerms): Row {
  const first = attempts[0]?.beganAt.getTime();
  const common = { label, depth, attempts };
  if (record !== undefined) {
    const from = Math.min(begins(record), first ?? Number.POSITIVE_INFINITY, record.recordedAt.getTime());
    const isWait = waits.includes(record.kind);
    const look = record.isFailure ? "failed" : isWait ? "wait" : "done";
    return { ...common, from, to: record.recordedAt.getTime(), look, record };
  }
  const from = Math.min(first ?? begins(undefined), end);
  if (pending === undefined) return { ...common, from, to: attempts.at(-1)?.endedAt.getTime() ?? end, look: "failed" };
  return { ...common, from, to: end, look: waits.includes(pending.kind) ? "wait" : "open", pending };
}
