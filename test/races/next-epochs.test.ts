/** Each row that a run begins with after a restart, and each that it leaves behind. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aSignalTo } from "./deeds.ts";
import { allRowsOn, failedRunsOn, fresh, iso, repairsOn } from "./next-epochs.ts";
import { aDemand, aRecord, aRun, aRunAtWork, aWaitFor, minute, noon, second, shielded, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("the next epoch", (database) => {
  const stage = stageOn(database);
  const { rows, state } = allRowsOn(stage);
  const { repair, block } = repairsOn(stage);
  const { aFailedRun } = failedRunsOn(stage);

  describe("after a restart", () => {
    test("has the records before the cut, its whole time, and no status of its own", async () => {
      const [other, run] = [await aFailedRun(), await aFailedRun()];
      const before = [await rows(other), await state(other)];
      const { turn } = await state(run);
      await stage.clock.set(noon + 20 * second);
      expect(await repair(run, "restart", { from: { path: "go", occurrence: 1 } })).toMatchObject({
        ...{ outcome: "restarted", kept: 2, dropped: 4, turn: Number(turn) + 1 },
      });
      expect(await state(run)).toMatchObject({
        ...fresh,
        ...{
          epoch: 1,
          turn: Number(turn) + 1,
          last_position: 2,
          handed_position: 1,
          history_bytes: 10,
          closed: ["stop"],
        },
        ...{ has_mail: true, custom_status: null, finished_token: null, due_at: iso(soon), ready_at: iso(0) },
        ...{ timeout_at: iso(noon + 20 * second + 60 * minute), last_record_at: iso(noon + 20 * second) },
      });
      const { record, attempt, signal, callback, epoch, patch } = await rows(run);
      expect(record).toHaveLength(6 + 2);
      expect(attempt).toMatchObject([
        { epoch: 0, path: "a" },
        { epoch: 1, path: "a" },
      ]);
      expect(patch).toMatchObject([
        { epoch: 0, position: 1 },
        { epoch: 1, position: 1 },
      ]);
      expect(signal).toMatchObject([
        { payload: '0"here"', position: null, taken_epoch: 1 },
        { payload: '0"again"', position: null, taken_epoch: 0 },
      ]);
      expect(callback).toMatchObject([{ epoch: 0, position: null, outcome: "resolved" }]);
      expect(epoch).toMatchObject([
        {
          ...{ epoch: 1, why: "restarted", input: null, is_input_parsed: true, kept: 2, laps: 0, before: null },
          began_at: iso(noon + 20 * second),
          segments: [
            { from: 0, at: noon, run: run.id, epoch: 0 },
            { from: 2, at: noon + 20 * second, run: run.id, epoch: 1, shift: 19 * second },
          ],
        },
      ]);
      expect([await rows(other), await state(other)]).toEqual(before);
    });

    test("has nothing left of how the run ended, or was to end", async () => {
      const run = await aFailedRun();
      await stage.look(
        `update layover.run_state set cancel_reason = 'late', is_closing = true, ending_position = 1, undos = 1, failed_undos = 1
          where run_id = $1`,
        [run.id],
      );
      await repair(run, "restart");
      expect(await state(run)).toMatchObject(fresh);
    });

    test("has the failed attempts of the steps that are kept, and of no others", async () => {
      const other = await aFailedRun();
      await repair(other, "restart", { from: { path: "c", occurrence: 1 } }); // it keeps the step b
      const run = await aFailedRun();
      await stage.look(
        `insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error)
          select $1, 0, x.path, x.occurrence, 1, layover.now(), layover.now(), '0null'
            from (values ('a', 2), ('b', 1), ('go', 1)) as x (path, occurrence)`,
        [run.id],
      );
      await repair(run, "restart", { from: { path: "approval", occurrence: 1 } });
      const copied = await stage.look("select path, occurrence from layover.attempt where run_id = $1 and epoch = 1", [
        run.id,
      ]);
      expect(copied).toEqual([{ path: "a", occurrence: 1 }]);
    });

    test("has mail, where only an answer has come that was not taken", async () => {
      const run = await aFailedRun();
      await stage.look("delete from layover.signal where run_id = $1", [run.id]);
      const from = { path: "go", occurrence: 1 };
      expect(await repair(run, "restart", { from })).toMatchObject({ outcome: "restarted" });
      expect(await state(run)).toMatchObject({ has_mail: true });
    });

    test("of a paused run that nobody has claimed takes what was kept for it", async () => {
      const delivery = {
        webhook: "shop",
        delivery: "d1",
        deeds: [aSignalTo("kept for")],
        armed: [soon, soon + minute],
      };
      expect(await stage.onlooker.call("receive_delivery", delivery)).toMatchObject({ deeds: [{ signal: "kept" }] });
      const run = await aRun(stage, { id: "kept for" });
      await run.operate(stage.onlooker, "pause");
      expect(await repair(run, "restart")).toMatchObject({ outcome: "restarted" });
      expect(await state(run)).toMatchObject({ has_mail: true });
      expect(await rows(run)).toMatchObject({ signal: [{ name: "address", position: null }] });
    });

    test("from the place of its end has what came before the run closed, though that was written twice", async () => {
      const run = await aRunAtWork(stage);
      const demands = shielded([aDemand("branch", "cleanup", { demandedAfter: 1 })]);
      await run.finish(stage.onlooker, { token: "first", records: [aRecord("step", "a")], demands });
      await run.operate(stage.onlooker, "cancel");
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      await run.finish(stage.onlooker, { token: "second", position: 2 });
      await stage.clock.advance(60 * minute); // the hour that its cleanups have
      await run.claim(stage.onlooker, { token: "third", turn: 3 });
      await run.finish(stage.onlooker, { token: "third", position: 3, next: "cancelled", value: "0{}" });
      expect(await run.kinds()).toEqual(["step a", "closing", "closing"]);
      const from = { path: "", occurrence: 1 };
      expect(await repair(run, "restart", { from })).toMatchObject({ outcome: "restarted", kept: 1, dropped: 2 });
    });

    test("of a paused run leaves nothing of what it waited for, and tells nobody else to", async () => {
      const waiting = async () => {
        const run = await aRunAtWork(stage);
        const map = { path: "all", slots: 1, failsFast: false };
        const demands = [
          aDemand("branch", "all/a", { map }),
          aDemand("branch", "all/b", { map, ordinal: 2 }),
          aWaitFor("go"),
        ];
        await run.finish(stage.onlooker, { token: "first", demands });
        await stage.look(
          "insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until) values ($1, '', 0, 1, '', 1, layover.now(), layover.now())",
          [run.id],
        );
        await run.operate(stage.onlooker, "pause");
        return run;
      };
      const [other, run] = [await waiting(), await waiting()];
      const before = await rows(other);
      expect(await repair(run, "restart")).toMatchObject({ outcome: "restarted" });
      expect(await rows(run)).toMatchObject({ pending: [], map: [], setback: [] });
      expect(await state(run)).toMatchObject({
        ...fresh,
        has_mail: false,
        closed: null,
        timeout_at: null,
      });
      expect((await rows(run))["epoch"]).toMatchObject([{ segments: [{ shift: 0 }] }]);
      expect(await rows(other)).toEqual(before);
    });

    test("is not taken back: it is blocked", async () => {
      const run = await aFailedRun();
      await repair(run, "restart");
      await block(run, 0);
      expect(await state(run)).toMatchObject({ status: "parked", blocked: "other code", epoch: 1 });
    });

    test("has the input of the epoch before, and is parsed as that was", async () => {
      const run = await aRun(stage);
      await stage.look("update layover.run set is_input_parsed = false where id = $1", [run.id]);
      await run.operate(stage.onlooker, "pause");
      const epochs = async () =>
        await stage.look("select input, is_input_parsed from layover.epoch where run_id = $1 order by epoch", [run.id]);
      await repair(run, "restart");
      expect(await epochs()).toEqual([{ input: null, is_input_parsed: false }]);
      for (const more of [{ encodedInput: '0"new"' }, {}]) {
        await run.operate(stage.onlooker, "pause");
        await repair(run, "restart", more);
      }
      expect((await epochs()).slice(1)).toEqual([
        { input: '0"new"', is_input_parsed: true },
        { input: '0"new"', is_input_parsed: true },
      ]);
    });
  });
});
