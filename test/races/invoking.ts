/** Runs that other runs start, as a turn's finish names them. */
import { randomUUID } from "node:crypto";
import type * as wire from "../../src/postgres/wire.ts";
import { rowsOn } from "./rows.ts";
import { aRecord, aRunAtWork, at, Run } from "./runs.ts";
import type { Stage } from "./stage.ts";

export function aChild(path: string, more: Partial<wire.NewChild> = {}): wire.NewChild {
  return {
    ...{ ...at(path), runId: randomUUID(), workflow: "flow", version: 1, input: "0{}", demandedAfter: 0, ordinal: 1 },
    ...more,
  };
}

/** One whose run has this id. */
export const childOf = (runId: string, path: string, more: Partial<wire.NewChild> = {}) =>
  aChild(path, { runId, ...more });

/** New ids in a known order: early, parent, other, one, two. */
export function freshIds() {
  const [start = ""] = randomUUID().split("-");
  const id = (last: number) =>
    `00000000-${start.slice(0, 4)}-7${start.slice(4, 7)}-8000-${last.toString().padStart(12, "0")}`;
  return { early: id(1), parent: id(2), other: id(3), one: id(4), two: id(5) };
}

/** An id of a run, in the order of the numbers. */
export const idOf = (last: number): string => `00000000-0000-7000-8000-${String(last).padStart(12, "0")}`;

/** Starts runs by the finish of their parent's first turn, and looks at the rows of both. */
export function startingOn(stage: Stage) {
  const start = (parent: Run, children: readonly object[], more: object = {}) =>
    parent.finish(stage.onlooker, {
      token: "first",
      children: children.map((one) => ({ ...aChild("a"), ...one })),
      ...more,
    });
  const made = async (parent: Run) =>
    (await stage.look("select id from layover.run where parent_run_id = $1 order by id", [parent.id])).map(
      ({ id }) => id,
    );
  const records = (run: Run) =>
    stage.look(
      `select epoch, position, kind, path, occurrence, is_failure, value, layover.to_ms(recorded_at)::float8 as at
         from layover.record where run_id = $1 order by epoch, position`,
      [run.id],
    );
  const waits = (run: Run) =>
    stage.look(
      `select path, occurrence, kind, demanded_after, ordinal, layover.to_ms(until)::float8 as until, child_run_id, child_bond, child_status
         from layover.pending where run_id = $1 order by ordinal`,
      [run.id],
    );
  return { start, made, records, waits, row: rowsOn(stage).state };
}

/** Starts many runs at once that `parent` waits for, as rows: a finish takes some hundred. They are written in the order of `ids`. */
export const startMany = (stage: Stage, parent: Run, ids: readonly string[]) =>
  stage.look(
    `with child as (
       select c.id, c.n from unnest($2::uuid[]) with ordinality as c (id, n)
     ), started as (
       insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at, parent_run_id, parent_path, parent_occurrence)
         select id, 'default', 'child', 1, '0null', true, layover.now(), $1, 'many', n from child
     ), parked as (
       insert into layover.run_state (run_id, namespace, status, last_record_at, ready_at, due_at, has_parent)
         select id, 'default', 'parked', layover.now(), 'epoch', layover.now(), true from child
     ), counted as (
       update layover.run_state set children = children + cardinality($2::uuid[]) where run_id = $1
     ) insert into layover.pending (run_id, path, occurrence, kind, demanded_after, ordinal, child_run_id, child_bond)
         select $1, 'many', n, 'child', 0, 100 + n, id, 'cancel' from child`,
    [parent.id, ids],
  );

/** Parents that have failed without having taken the end of the run that they had started. */
export function failedParentsOn(stage: Stage) {
  const { set } = rowsOn(stage);
  /** Starts `start` by a parent, and leaves it at work; the parent (its id: `parentId`) fails in its second turn. */
  return async function aFailedParent(start: wire.NewChild, parentId?: string) {
    const parent = await aRunAtWork(stage, parentId === undefined ? {} : { runId: parentId });
    await parent.finish(stage.onlooker, { token: "first", children: [start] });
    const child = new Run(stage, start.runId);
    await child.claim(stage.onlooker, { token: "child" });
    await set(parent, "ready_at = 'epoch'");
    await parent.claim(stage.onlooker, { turn: 2, token: "second" });
    const records = [aRecord("step", "a", { isFailure: true })];
    const failure = { at: 1, timeouts: [], lost: [], repeats: [] };
    await parent.finish(stage.onlooker, { token: "second", records, next: "failed", value: "0{}", failure });
    return { parent, child };
  };
}

/** A parent that has not taken the end of the run which it waits for. Ids: of the parent, and of that run. */
export async function anUntakenEnd(stage: Stage, [parentId, childId]: readonly [string, string], more: object = {}) {
  const parent = await aRunAtWork(stage, { runId: parentId });
  await parent.finish(stage.onlooker, { token: "first", children: [childOf(childId, "it", { isBound: true })] });
  const child = new Run(stage, childId);
  await child.claim(stage.onlooker, { token: "child" });
  await child.finish(stage.onlooker, { token: "child", next: "failed", value: '0"why"', ...more });
  return { parent, child };
}
