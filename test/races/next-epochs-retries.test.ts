/** Each row that a run begins with after a retry, and each that a retry which is taken back puts back. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { allRowsOn, failedRunsOn, fresh, iso, repairsOn } from "./next-epochs.ts";
import { aRecord, at, minute, noon, second } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("the next epoch", (database) => {
  const stage = stageOn(database);
  const { rows, state } = allRowsOn(stage);
  const { repair, claim, block } = repairsOn(stage);
  const { aFailedRun, aRetriedRun } = failedRunsOn(stage);

  describe("after a retry", () => {
    test("has all but the failure, its old seeds, and what the run said of itself", async () => {
      const run = await aFailedRun();
      const { turn } = await state(run);
      await stage.clock.set(noon + 20 * second);
      expect(await repair(run, "retry")).toMatchObject({
        outcome: "retried",
        kept: 5,
        dropped: 1,
        turn: Number(turn) + 1,
      });
      expect(await state(run)).toMatchObject({
        ...fresh,
        ...{ epoch: 1, turn: Number(turn) + 1, last_position: 5, handed_position: 4, closed: ["stop"], has_mail: true },
        ...{ custom_status: '0"busy"', finished_token: null, timeout_at: iso(noon + 20 * second + 60 * minute) },
      });
      const { signal, callback, epoch } = await rows(run);
      expect(signal).toMatchObject([
        { payload: '0"here"', position: 3, taken_epoch: 1 },
        { payload: '0"again"', position: null, taken_epoch: 0 },
      ]);
      expect(callback).toMatchObject([{ epoch: 0, position: 4 }]);
      expect(epoch).toMatchObject([
        {
          ...{ why: "retried", kept: 5, laps: 0 },
          segments: [
            { from: 0, run: run.id, epoch: 0, at: noon },
            { from: 5, run: run.id, epoch: 0, at: noon + 20 * second, shift: 19 * second },
          ],
        },
      ]);
    });

    test("keeps which signals its run had taken, and none that wait or are another run's", async () => {
      const [run] = [await aFailedRun(), await aFailedRun()];
      const [taken] = await stage.look(
        "select number::integer, position from layover.signal where run_id = $1 and position is not null",
        [run.id],
      );
      await repair(run, "retry");
      const kept = await stage.look("select before->'signals' as signals from layover.epoch where run_id = $1", [
        run.id,
      ]);
      expect(kept).toEqual([{ signals: [taken] }]);
    });

    test("of a run that is to end has no timeout, and owes what it owed", async () => {
      const run = await aFailedRun();
      await stage.look(
        `update layover.record set kind = 'ending', path = '', is_failure = false, value = '{"owed":["a#1"]}'
          where run_id = $1 and position = 6`,
        [run.id],
      );
      expect(await repair(run, "retry")).toMatchObject({ outcome: "retried" });
      expect(await state(run)).toMatchObject({ ending_position: 5, undos: 1, timeout_at: null });
    });

    test("that is taken back leaves each row as it was", async () => {
      const [other, run] = [await aRetriedRun(), await aFailedRun()];
      await stage.look(
        `insert into layover.signal (run_id, id, name, payload, is_parsed, received_at, position, taken_epoch)
           values ($1, gen_random_uuid(), 'taken in another epoch', '0true', true, layover.now(), 1, 7)`,
        [run.id],
      );
      const before = [await rows(run), await state(run)] as const;
      const others = [await rows(other), await state(other)];
      await stage.clock.set(noon + 20 * second);
      await repair(run, "retry", { by: "ada" });
      await claim(run, "third");
      expect(
        await run.finish(stage.onlooker, {
          token: "third",
          position: 5,
          next: "blocked",
          value: "it is not asked for",
        }),
      ).toMatchObject({ outcome: "finished", status: "failed" });
      expect(await rows(run)).toEqual(before[0]);
      const worn = {
        claims: 0,
        beginnings: 0,
        lost: 0,
        spared: 0,
        lost_token: null,
        dispatches: 0,
        begun: null,
        is_interrupted: false,
        has_pending: false,
      };
      const { turn, finished_token: _, finished_answer: __, ...now } = await state(run);
      const { turn: old, finished_token: ___, finished_answer: ____, ...then } = before[1];
      expect(now).toEqual({ ...then, ...worn, timeout_at: null });
      expect(turn).toBe(Number(old) + 2);
      expect([await rows(other), await state(other)]).toEqual(others);
      expect(await stage.look("select verb, verdict::json from layover.operation where run_id = $1", [run.id])).toEqual(
        [
          {
            verb: "retry",
            verdict: { outcome: "would_repeat", runId: run.id, places: [], why: "it is not asked for" },
          },
        ],
      );
    });

    test("that comes after another one is taken back alone", async () => {
      const run = await aFailedRun();
      await repair(run, "retry");
      await claim(run, "third");
      const failure = { at: 6, timeouts: [], lost: [], repeats: [] };
      const records = [aRecord("step", "b", { isFailure: true })];
      await run.finish(stage.onlooker, { token: "third", position: 5, records, next: "failed", value: "0{}", failure });
      await stage.clock.set(noon + 20 * second);
      await repair(run, "retry");
      await block(run, 5);
      expect(await state(run)).toMatchObject({ status: "failed", epoch: 1, last_position: 6 });
      const told =
        "select verdict::json->>'outcome' as outcome from layover.operation where run_id = $1 order by asked_at";
      expect(await stage.look(told, [run.id])).toEqual([{ outcome: "retried" }, { outcome: "would_repeat" }]);
      expect((await rows(run))["epoch"]).toMatchObject([{ epoch: 1, why: "retried" }]);
    });

    test("is not taken back once somebody has asked the run to end", async () => {
      const run = await aFailedRun();
      await repair(run, "retry");
      await claim(run, "blocking");
      await run.operate(stage.onlooker, "cancel");
      await run.finish(stage.onlooker, { token: "blocking", position: 5, next: "blocked", value: "other code" });
      expect(await state(run)).toMatchObject({ status: "parked", epoch: 1 });
    });

    test("is not taken back where its first turn did not get on, and is tried again", async () => {
      const run = await aFailedRun();
      await repair(run, "retry");
      await claim(run, "third");
      await run.finish(stage.onlooker, { token: "third", position: 5, setback: "it took too long" });
      expect(await state(run)).toMatchObject({ status: "parked", blocked: null, epoch: 1 });
    });

    test("is not taken back once it has gone on: it is blocked", async () => {
      const run = await aFailedRun();
      await repair(run, "retry");
      await claim(run, "third");
      await run.finish(stage.onlooker, { token: "third", position: 5, records: [aRecord("step", "b")], next: "ready" });
      await claim(run, "fourth");
      await run.finish(stage.onlooker, { token: "fourth", position: 6, next: "blocked", value: "other code" });
      expect(await state(run)).toMatchObject({ status: "parked", blocked: "other code", epoch: 1 });
    });

    test("is not taken back once an attempt has failed in it", async () => {
      const run = await aFailedRun();
      await stage.clock.set(noon + 20 * second);
      await repair(run, "retry");
      await claim(run, "third");
      const attempt = {
        ...at("b"),
        number: 1,
        beganAt: noon + 20 * second,
        endedAt: noon + 21 * second,
        error: "0null",
        demandedAfter: 5,
      };
      await run.finish(stage.onlooker, { token: "third", position: 5, attempt, next: "ready" });
      await claim(run, "fourth");
      await run.finish(stage.onlooker, { token: "fourth", position: 5, next: "blocked", value: "other code" });
      expect(await state(run)).toMatchObject({ status: "parked", blocked: "other code", epoch: 1 });
    });
  });
});
