/** What must hold of the undos of a run: each step that was begun is undone once, the last one first, and nothing else is. */
import { decode } from "../../src/core/codec/codec.ts";
import { readEnding } from "../../src/core/replay/undos.ts";
import type { Effect } from "./effects.ts";
import { undoable, undoPath } from "./errand.ts";
import { tripPath } from "./trip.ts";
import type { SeenRun } from "./watcher.ts";

/** One sentence for each thing that is not as it must be. `fails`: whether the errand's steps have undos. */
export function undoFaults(
  fails: boolean,
  { records, attempted }: Pick<SeenRun, "records" | "attempted">,
  effects: readonly Effect[],
): string[] {
  const undone = records.filter(({ path }) => path.startsWith(undoPath(""))).map(({ path }) => path);
  const done = new Set([...effects, ...records].map(({ path }) => path));
  const owed = new Set(fails ? undoable.filter((path) => done.has(path)).map(undoPath) : []);
  // A process that dies as it begins a step leaves an attempt, or a second try of the record of the cancel, and no trace.
  const isInterrupted = records.some(({ kind, attempts }) => kind === "closing" && attempts > 1);
  const mayOwe = new Set(fails ? [...owed, ...(isInterrupted ? undoable : attempted).map(undoPath)] : []);
  const ending = records.find(({ kind }) => kind === "ending");
  const listed = ending === undefined ? [] : readEnding(ending.value).owed.map(({ path }) => undoPath(path));
  const positionOf = (path: string) => records.find((record) => undoPath(record.path) === path)?.position;
  const positions = listed.flatMap((path) => positionOf(path) ?? []);
  return [
    ...(listed.join() === undone.join() ? [] : [`owes ${listed.join()}, and has undone ${undone.join()}`]),
    ...[...owed].filter((path) => !listed.includes(path)).map((path) => `has begun, and does not owe ${path}`),
    ...listed.filter((path) => !mayOwe.has(path)).map((path) => `owes ${path}, which was never begun`),
    ...[...done].filter((path) => path.startsWith(undoPath("")) && !listed.includes(path)).map((path) => `did ${path}`),
    ...(positions.every((position, index) => index === 0 || position < (positions[index - 1] ?? 0))
      ? []
      : [`undoes in the order ${listed.join()}`]),
    ...tripFaults(records, effects),
  ];
}

/** The undo of the run that it has invoked is told its result, if it has one. */
function tripFaults(records: SeenRun["records"], effects: readonly Effect[]): string[] {
  const end = records.find(({ path }) => path === tripPath);
  const result = end === undefined || end.isFailure || end.value === null ? undefined : String(decode(end.value));
  return effects
    .filter(({ path }) => path === undoPath(tripPath))
    .map(({ seen }) => seen.at(-1))
    .map((last) => (last?.startsWith(tripPath) ? last : undefined))
    .filter((told) => told !== result)
    .map((told) => `undoes a run with the result ${result}, and was told ${told}`);
}
