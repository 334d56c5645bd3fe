/** The verbs that begin another epoch, for a run whose history has as many records as a history may have. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRecord, aRunAtWork, type Run, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("a run with ten thousand records whose last step failed it", (database) => {
  const stage = stageOn(database);
  const last = { path: "many", occurrence: 10_000 };

  async function aLongRun(): Promise<Run> {
    const run = await aRunAtWork(stage);
    await stage.onlooker.query(
      `with record as (
         insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, value, recorded_at)
           select $1, 0, i, 'step', 'many', i, false, '0' || to_json(repeat('x', 100)), layover.now() from generate_series(1, 9999) as i
       )
       update layover.run_state set last_position = 9999, handed_position = 9999, history_bytes = 9999 * 103 where run_id = $1`,
      [run.id],
    );
    const failed = { ...aRecord("step", last.path, { isFailure: true }), occurrence: last.occurrence };
    const failure = { at: 10_000, timeouts: [], lost: [], repeats: [] };
    const end = { token: "first", position: 9_999, records: [failed], next: "failed", value: "0{}", failure } as const;
    expect(await run.finish(stage.onlooker, end)).toMatchObject({ outcome: "finished", status: "failed" });
    await stage.onlooker.query("set statement_timeout = '10s'");
    return run;
  }

  /** Answers how many records the newest epoch of a run has kept, and how many it has. */
  const keptOf = ({ id }: Pick<Run, "id">) =>
    stage.look(
      `select e.epoch, e.why, e.kept, t.last_position, (select count(*)::integer from layover.record h
         where h.run_id = e.run_id and h.epoch = e.epoch) as records
         from layover.epoch e join layover.run_state t on t.run_id = e.run_id and t.epoch = e.epoch where e.run_id = $1`,
      [id],
    );
  const kept = { epoch: 1, kept: 9_999, last_position: 9_999, records: 9_999 };

  test("is retried by one call of a second or two", async () => {
    const run = await aLongRun();
    const call = { runId: run.id, callId: randomUUID(), armed: [soon] };
    expect(await stage.onlooker.call("retry_run", call)).toMatchObject({ outcome: "retried", kept: 9_999, dropped: 1 });
    expect(await keptOf(run)).toEqual([{ ...kept, why: "retried" }]);
  });

  test("is restarted from that step by one call of a second or two", async () => {
    const run = await aLongRun();
    const call = { runId: run.id, callId: randomUUID(), from: last, armed: [soon] };
    expect(await stage.onlooker.call("restart_run", call)).toMatchObject({
      outcome: "restarted",
      kept: 9_999,
      dropped: 1,
    });
    expect(await keptOf(run)).toEqual([{ ...kept, why: "restarted" }]);
  });

  test("is forked from that step by one call of a second or two", async () => {
    const run = await aLongRun();
    const newRunId = randomUUID();
    const call = { runId: run.id, newRunId, from: last, armed: [soon] };
    expect(await stage.onlooker.call("fork_run", call)).toMatchObject({ outcome: "forked", runId: newRunId });
    expect(await keptOf({ id: newRunId })).toEqual([{ ...kept, why: "forked" }]);
  });
});
