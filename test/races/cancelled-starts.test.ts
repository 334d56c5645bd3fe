/** A cancel of a run that may not have begun. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { startingOn } from "./invoking.ts";
import { aMap, aParkedRun, aRun, aRunAtWork, aWaitFor, minute, noon, Run, second, tokenOf } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a cancel",
  (database) => {
    const stage = stageOn(database);
    const cancel = (run: Run, more?: Parameters<Run["operate"]>[2]) => run.operate(stage.onlooker, "cancel", more);
    const cancelBy = (run: Run) => (session: Session) => run.operate(session, "cancel");
    const cancelling = (run: Run) => ({ outcome: "cancelling", runId: run.id });

    test("of a run that nobody has claimed ends it at once, and tells the run that waits for it", async () => {
      const { start, made, waits } = startingOn(stage);
      const parent = await aRunAtWork(stage);
      await start(parent, [{ path: "it" }], { next: "parked" });
      const [id = ""] = await made(parent);
      const told = { outcome: "cancelled", runId: id, others: [{ runId: parent.id, turn: 2 }] };
      expect(await cancel(new Run(stage, String(id)))).toMatchObject(told);
      expect(await waits(parent)).toMatchObject([{ path: "it", child_status: "cancelled" }]);
      expect(await parent.state()).toMatchObject({ status: "parked", isReady: true });
    });

    describe("of a delayed start", () => {
      const delayMs = 10 * minute;

      test("that nobody has claimed ends it at once, also once it may begin", async () => {
        const run = await aRun(stage, { delayMs });
        const late = await aRun(stage, { delayMs: second });
        await stage.clock.set(noon + 2 * second);
        for (const each of [run, late]) {
          const callId = randomUUID();
          const told = { outcome: "cancelled", runId: each.id };
          expect(await cancel(each, { callId, reason: "ordered twice" })).toEqual(told);
          expect(await cancel(each, { callId })).toEqual(told);
          expect(await cancel(each)).toEqual({ outcome: "not_applicable", runId: each.id, status: "cancelled" });
          expect(await each.state()).toMatchObject({ status: "cancelled", dueAt: null, readyAt: null });
          expect(await stage.onlooker.call("get_run", { runId: each.id })).toMatchObject({
            endedAt: noon + 2 * second,
            error:
              '0{"data": {"reason": "ordered twice"}, "name": "CancelledError", "message": "the run was cancelled: ordered twice"}',
          });
        }
      });

      test.each([
        [
          "of a fork tells its handler first, which may clean up",
          "step",
          "last_position = 1",
          { outcome: "cancelling" },
        ],
        [
          "is refused where an earlier release has recorded its timeout",
          "cancellation",
          "last_position = 1, cancelled_position = 1",
          { outcome: "not_applicable", status: "cancelling" },
        ],
      ])("%s", async (_, kind, changes, told) => {
        const run = await aRun(stage, { delayMs });
        await stage.onlooker.query(
          `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at)
             values ($1, 0, 1, $2, '', 1, false, layover.now())`,
          [run.id, kind],
        );
        await stage.onlooker.query(`update layover.run_state set ${changes} where run_id = $1`, [run.id]);
        expect(await cancel(run)).toMatchObject(told);
      });

      test("without a reason says no reason", async () => {
        const run = await aRun(stage, { delayMs });
        await stage.onlooker.call("cancel_run", { runId: run.id });
        expect(await stage.onlooker.call("get_run", { runId: run.id })).toMatchObject({
          error: '0{"name": "CancelledError", "message": "the run was cancelled"}',
        });
      });

      test("ends no other run, and waits for the lock of none", async () => {
        const [run, other] = [await aRun(stage, { delayMs }), await aMap(stage, ["a", "b", "c"], { slots: 2 })];
        const before = [await other.state(), await other.pending(), await stage.look("select * from layover.map")];
        const holder = await stage.hold("select from layover.pending where run_id = $1 for update", [other.id]);
        expect(await cancel(run)).toMatchObject({ outcome: "cancelled" });
        await holder.commit();
        const after = [await other.state(), await other.pending(), await stage.look("select * from layover.map")];
        expect(after).toEqual(before);
      });

      test("with the id of a call that came before is told what that one was told, and ends nothing", async () => {
        const run = await aRun(stage, { delayMs });
        const callId = randomUUID();
        const told = await run.operate(stage.onlooker, "pause", { callId });
        expect(await cancel(run, { callId })).toEqual(told);
        expect(await run.state()).toMatchObject({ status: "parked" });
      });

      test("and its claim: whoever comes first is heard", async () => {
        const [run, other] = [await aRun(stage, { delayMs: 1 }), await aRun(stage, { delayMs: 1 })];
        await stage.clock.set(noon + second);
        const claim = (of: Run) => (session: Session) => of.claim(session, { token: "first" });
        const [, refused] = await stage.collide({ first: cancelBy(run), second: claim(run) });
        expect(refused).toEqual({ outcome: "over", status: "cancelled" });
        const [claimed, told] = await stage.collide({ first: claim(other), second: cancelBy(other) });
        expect([claimed, told]).toMatchObject([{ outcome: "claimed", position: 0 }, cancelling(other)]);
      });

      test("that was claimed, and given back, tells its handler", async () => {
        const run = await aRun(stage, { delayMs: 1 });
        await stage.clock.set(noon + second);
        await run.claim(stage.onlooker, { token: "first" });
        const turns = [{ runId: run.id, token: tokenOf("first") }];
        await stage.onlooker.call("return_leases", { turns });
        expect(await cancel(run)).toEqual({ ...cancelling(run), turn: 1 });
        await run.claim(stage.onlooker, { token: "again" });
        expect(await run.kinds()).toEqual(["closing"]);
      });

      test("that was claimed by a process that is lost tells its handler", async () => {
        const run = await aRun(stage, { delayMs: 1 });
        await stage.clock.set(noon + second);
        await run.claim(stage.onlooker, { token: "first" });
        await stage.clock.advance(2 * minute);
        expect(await cancel(run)).toEqual({ ...cancelling(run), turn: 1 });
      });

      test("that now sleeps in a later turn tells its handler", async () => {
        const run = await aParkedRun(stage, [aWaitFor("address", { until: noon + 60 * minute })]);
        expect(await cancel(run)).toEqual({ ...cancelling(run), turn: 2 });
      });
    });
  },
  { perTest: true },
);
