/** What deliveries have brought to a run is found by an index when the run is deleted, however many others there are. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { isWhole } from "../size.ts";
import { testDatabase } from "./database.ts";

const database = testDatabase();
const deliveries = isWhole ? 100_000 : 10_000;
const [gone, kept] = [randomUUID(), randomUUID()];

const deliver = (id: string, runs: readonly string[]) =>
  database.pool.query(
    `insert into layover.delivery (namespace, webhook, id, outcome, deeds, headers, event, attempts, received_at, decided_at)
     values ('default', 'stripe', $1, 'done', $2, '{}', '{}', 1, now(), now())`,
    [id, JSON.stringify(runs.map((runId) => ({ outcome: "started", runId })))],
  );

test("only the deliveries of the runs that are deleted are read and emptied", async () => {
  await database.pool.query(
    `insert into layover.delivery (namespace, webhook, id, outcome, deeds, headers, event, attempts, received_at, decided_at)
     select 'default', 'stripe', n::text, 'done', json_build_array(json_build_object('outcome', 'started', 'runId', gen_random_uuid())), '{}',
         '{}', 1, now(), now()
       from generate_series(1, $1) as n`,
    [deliveries],
  );
  await deliver("one", [gone]);
  await deliver("both", [kept, gone]);
  await deliver("other", [kept]);
  const session = await database.pool.connect();
  try {
    await session.query("begin");
    const beganAt = performance.now();
    await session.query("select layover.forget_deliveries('default', $1)", [[gone]]);
    console.info(`forget_deliveries among ${deliveries}: ${(performance.now() - beganAt).toFixed(1)} ms`);
    const { rows } = await session.query(
      `select seq_tup_read::integer as read, idx_tup_fetch::integer as fetched
         from pg_stat_xact_user_tables where schemaname = 'layover' and relname = 'delivery'`,
    );
    expect(rows[0]?.read).toBe(0);
    expect(rows[0]?.fetched).toBeLessThan(50);
    await session.query("commit");
  } finally {
    session.release();
  }
  const { rows } = await database.pool.query(
    "select id, event from layover.delivery where event is null or id = 'other' order by id",
  );
  expect(rows).toEqual([
    { id: "both", event: null },
    { id: "one", event: null },
    { id: "other", event: "{}" },
  ]);
});
