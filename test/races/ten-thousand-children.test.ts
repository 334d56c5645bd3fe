/** The end of a run that waits for as many others as a run may: it asks all of them to end, in one call. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRunAtWork } from "./runs.ts";
import { stageOn } from "./stage.ts";

// This suite has a file of its own, so that its sessions are new. A session that has planned these statements for empty tables takes
// more than ten seconds, until Postgres has analyzed the tables (autovacuum).
describeSomePostgres("a run that waits for ten thousand others", (database) => {
  const stage = stageOn(database);

  test("asks them to end, by one call of a second or two", async () => {
    const parent = await aRunAtWork(stage);
    await stage.onlooker.query(
      `with child as (
         insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at, parent_run_id, parent_path,
             parent_occurrence)
           select gen_random_uuid(), r.namespace, 'child', 1, '0{}', true, layover.now(), r.id, 'many', i
             from generate_series(1, 10000) as i, layover.run r where r.id = $1
         returning id, namespace, parent_occurrence as number
       ), state as (
         insert into layover.run_state (run_id, namespace, status, last_record_at, has_parent)
           select c.id, c.namespace, 'parked', layover.now(), true from child c
       ), row as (
         insert into layover.pending (run_id, kind, path, occurrence, demanded_after, ordinal, child_run_id, child_bond)
           select $1, 'child', 'many', c.number, 0, c.number, c.id, 'cancel' from child c
       )
       update layover.run_state set has_pending = true, children = 10000 where run_id = $1`,
      [parent.id],
    );
    await stage.onlooker.query("set statement_timeout = '10s'");
    const answer = await parent.finish(stage.onlooker, { token: "first", next: "completed", value: "0" });
    expect(answer).toMatchObject({ outcome: "finished", status: "completed" });
    const counted = `select count(*)::integer as asked from layover.run r join layover.run_state t on t.run_id = r.id
      where r.parent_run_id = $1 and t.cancel_requested_at is not null`;
    expect(await stage.look(counted, [parent.id])).toEqual([{ asked: 10_000 }]);
  });
});
