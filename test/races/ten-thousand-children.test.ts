/** The end of a run that waits for as many others as a run may: it asks all of them to end, in one call. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRunAtWork } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("a run that waits for ten thousand others", (database) => {
  const stage = stageOn(database);

  async function aParentOf(children: number) {
    const parent = await aRunAtWork(stage);
    await stage.onlooker.query(
      `with child as (
         insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at, parent_run_id, parent_path,
             parent_occurrence)
           select gen_random_uuid(), r.namespace, 'child', 1, '0{}', true, layover.now(), r.id, 'many', i
             from generate_series(1, ${children}) as i, layover.run r where r.id = $1
         returning id, namespace, parent_occurrence as number
       ), state as (
         insert into layover.run_state (run_id, namespace, status, last_record_at, has_parent)
           select c.id, c.namespace, 'parked', layover.now(), true from child c
       ), row as (
         insert into layover.pending (run_id, kind, path, occurrence, demanded_after, ordinal, child_run_id, child_bond)
           select $1, 'child', 'many', c.number, 0, c.number, c.id, 'cancel' from child c
       )
       update layover.run_state set has_pending = true, children = ${children} where run_id = $1`,
      [parent.id],
    );
    return parent;
  }

  test("asks them to end, by one call of a second or two, though it was planned when there were a few", async () => {
    await stage.onlooker.query("set statement_timeout = '10s'");
    const end = { token: "first", next: "completed", value: "0" } as const;
    const ended = { outcome: "finished", status: "completed" };
    for (let calls = 0; calls < 6; calls++) {
      const parent = await aParentOf(1);
      await stage.onlooker.query("analyze layover.run, layover.run_state, layover.pending");
      expect(await parent.finish(stage.onlooker, end)).toMatchObject(ended); // PostgreSQL keeps the plans of the sixth call
    }
    const parent = await aParentOf(10_000);
    expect(await parent.finish(stage.onlooker, end)).toMatchObject(ended);
    const counted = `select count(*)::integer as asked from layover.run r join layover.run_state t on t.run_id = r.id
      where r.parent_run_id = $1 and t.cancel_requested_at is not null`;
    expect(await stage.look(counted, [parent.id])).toEqual([{ asked: 10_000 }]);
  });
});
