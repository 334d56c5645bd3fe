/** A run that has taken many signals, as one has that continues as new for years: it takes the next one as it took the first. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aParkedRun, aRecord, aWaitFor } from "./runs.ts";
import { stageOn } from "./stage.ts";

// The signals were taken in an epoch that is gone, and each has a name of its own, since the check after each test compares all of one name.
describeSomePostgres("a run that has taken 5,000 signals", (database) => {
  const stage = stageOn(database);

  test("reads none of them when it takes one more", async () => {
    const run = await aParkedRun(stage, [aWaitFor("go")]);
    await stage.onlooker.query(
      `insert into layover.signal (run_id, id, name, payload, is_parsed, received_at, position, taken_epoch)
         select $1, gen_random_uuid(), 'go ' || i, '0null', true, layover.now(), i, -1 from generate_series(1, 5000) as i`,
      [run.id],
    );
    await run.signal(stage.onlooker, "go");
    await run.claim(stage.onlooker, { turn: 2, token: "second" });
    const untaken = "select number from layover.signal where run_id = $1 and position is null";
    const [sent] = await stage.look(untaken, [run.id]);
    const records = [aRecord("signal", "go", { value: '0"here"', signal: Number(sent?.["number"]) })];

    const session = await stage.session("at work");
    await session.begin();
    expect(await run.finish(session, { token: "second", records, next: "ready" })).toMatchObject({
      outcome: "finished",
    });
    const [row] = await session.query(`select sum(seq_tup_read + idx_tup_fetch)::integer as rows
      from pg_stat_xact_user_tables where schemaname = 'layover' and relname = 'signal'`);
    await session.commit();
    expect(row?.["rows"]).toBeLessThan(10);
    expect(await stage.look(untaken, [run.id])).toEqual([]);
  });
});
