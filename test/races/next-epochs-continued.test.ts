/** Each row that a run begins with when it continues as new, and the histories that it drops. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { allRowsOn, failedRunsOn, fresh, iso, repairsOn } from "./next-epochs.ts";
import { aRecord, aRunAtWork, at, minute, noon, second } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("the next epoch", (database) => {
  const stage = stageOn(database);
  const { rows, state } = allRowsOn(stage);
  const { claim } = repairsOn(stage);
  const { aRetriedRun } = failedRunsOn(stage);

  test("of a run that continues as new has its input, its mail, its timeout and its status, and drops the histories before the last", async () => {
    const other = await aRetriedRun();
    const before = await rows(other);
    await stage.clock.set(noon);
    const run = await aRunAtWork(stage, { timeoutMs: 60 * minute });
    await run.signal(stage.onlooker, "go");
    await stage.look(`update layover.run_state set custom_status = '0"busy"' where run_id = $1`, [run.id]);
    const { turn } = await state(run);
    const lap = async (token: string, input: string) => {
      await stage.clock.advance(2 * second);
      const attempt = { ...at("a"), number: 1, beganAt: noon, endedAt: noon, error: "0null", demandedAfter: 0 };
      const patches = [{ path: "check first", position: 0 }];
      await run.finish(stage.onlooker, { token, attempt, patches, next: "ready" });
      await claim(run, token);
      const records = [aRecord("step", "a"), aRecord("close", "go", { value: "0true" })];
      await run.finish(stage.onlooker, { token, records, next: "ready", continues: input });
    };
    await lap("first", '0"second"');
    expect(await state(run)).toMatchObject({
      ...{ ...fresh, finished_answer: expect.stringContaining("finished") },
      ...{
        epoch: 1,
        turn: Number(turn) + 2,
        last_position: 0,
        handed_position: -1,
        history_bytes: 0,
        closed: null,
        has_mail: true,
      },
      ...{ custom_status: '0"busy"', finished_token: expect.any(String), timeout_at: iso(noon + 60 * minute) },
    });
    await claim(run, "second");
    await lap("second", '0"third"');
    const { record, epoch, signal, attempt, patch } = await rows(run);
    expect(record).toMatchObject([{ epoch: 1 }, { epoch: 1 }]);
    expect(attempt).toMatchObject([{ epoch: 1 }]);
    expect(patch).toMatchObject([{ epoch: 1 }, { epoch: 2 }]);
    expect(signal).toMatchObject([{ position: null }]);
    expect(epoch).toMatchObject([
      { epoch: 1, why: "continued", input: '0"second"', is_input_parsed: true, kept: 0, laps: 0 },
      {
        ...{ epoch: 2, why: "continued", input: '0"third"', before: null, laps: 0 },
        segments: [{ from: 0, run: run.id, epoch: 2, at: noon + 4 * second, shift: 0 }],
      },
    ]);
    expect(await rows(other)).toEqual(before);
  });
});
