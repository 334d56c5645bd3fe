/** A cancel and a retry at one time, and a cancel and the finish that takes a retry back: each in both orders. */

import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { allRowsOn, failedRunsOn, repairsOn } from "./next-epochs.ts";
import { type Run, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres("a cancel", (database) => {
  const stage = stageOn(database);
  const { rows, state } = allRowsOn(stage);
  const { repair, claim } = repairsOn(stage);
  const { aFailedRun } = failedRunsOn(stage);
  const cancelBy = (run: Run) => (session: Session) => run.operate(session, "cancel", { reason: "ordered twice" });
  const operations = async (run: Run) =>
    (
      await stage.look(
        "select verb, verdict::json->>'outcome' as outcome from layover.operation where run_id = $1 order by verb",
        [run.id],
      )
    ).map(({ verb, outcome }) => [verb, outcome]);
  const closings = (run: Run) =>
    stage.look("select epoch, position, value from layover.record where run_id = $1 and kind = 'closing'", [run.id]);
  const isOver = (run: Run) => ({ outcome: "not_applicable", runId: run.id, status: "failed" });
  const cancelling = (run: Run) => ({ outcome: "cancelling", runId: run.id });

  /** Claims the next turn, and ends the run there: by then its cancel is in the history of its second epoch, behind what was kept. */
  async function expectCancelled(run: Run) {
    await claim(run, "closes");
    expect(await closings(run)).toEqual([{ epoch: 1, position: 6, value: "ordered twice" }]);
    const end = { token: "closes", position: 6, next: "cancelled", value: "0{}" } as const;
    expect(await run.finish(stage.onlooker, end)).toMatchObject({ outcome: "finished", status: "cancelled" });
    expect(await state(run)).toMatchObject({ epoch: 1, status: "cancelled" });
  }

  describe("and a retry", () => {
    const retryBy = (run: Run) => (session: Session) =>
      session.call("retry_run", { runId: run.id, callId: randomUUID(), armed: [soon] });

    test("that it waited for: the run closes in its next epoch", async () => {
      const run = await aFailedRun();
      const { turn } = await state(run);
      const [retried, told] = await stage.collide({ first: retryBy(run), second: cancelBy(run) });
      expect([retried, told]).toMatchObject([
        { outcome: "retried", epoch: 1, kept: 5 },
        { ...cancelling(run), turn: Number(turn) + 1 },
      ]);
      await expectCancelled(run);
    });

    test("that it waited for, and that rolls back: the run has failed", async () => {
      const run = await aFailedRun();
      const before = [await rows(run), await state(run)];
      const [, told] = await stage.collide({ first: retryBy(run), second: cancelBy(run), ends: "rollback" });
      expect(told).toEqual(isOver(run));
      expect([await rows(run), await state(run)]).toEqual(before);
    });

    test.each(["commit", "rollback"] as const)(
      "that waits for it: the run is over for the cancel, and goes on by the retry (%s)",
      async (ends) => {
        const run = await aFailedRun();
        const [told, retried] = await stage.collide({ first: cancelBy(run), second: retryBy(run), ends });
        expect([told, retried]).toMatchObject([isOver(run), { outcome: "retried", epoch: 1 }]);
        await claim(run, "goes on");
        expect(await state(run)).toMatchObject({ epoch: 1, status: "running", cancel_requested_at: null });
        expect(await closings(run)).toEqual([]);
        const kept = ends === "commit" ? [["cancel", "not_applicable"]] : [];
        expect(await operations(run)).toEqual([...kept, ["retry", "retried"]]);
      },
    );
  });

  describe("and the finish that takes a retry back", () => {
    /** Its retry is under way, and its code does not ask for what was kept. */
    async function aRetriedRun() {
      const run = await aFailedRun();
      const failed = await rows(run);
      await repair(run, "retry");
      await claim(run, "blocking");
      return { run, failed };
    }
    const takesBack = (run: Run) => (session: Session) =>
      run.finish(session, { token: "blocking", position: 5, next: "blocked", value: "other code" });

    test("that it waited for: the run has failed as before its retry, and is not cancelled", async () => {
      const { run, failed } = await aRetriedRun();
      const [finished, told] = await stage.collide({ first: takesBack(run), second: cancelBy(run) });
      expect(finished).toMatchObject({ outcome: "finished", status: "failed" });
      expect(told).toEqual(isOver(run));
      expect(await rows(run)).toEqual(failed);
      expect(await state(run)).toMatchObject({ epoch: 0, status: "failed", cancel_requested_at: null, due_at: null });
      expect(await operations(run)).toEqual([
        ["cancel", "not_applicable"],
        ["retry", "would_repeat"],
      ]);
    });

    test("that it waited for, and that rolls back: the retry stands, and other code that comes is told of the cancel", async () => {
      const { run } = await aRetriedRun();
      const [, told] = await stage.collide({ first: takesBack(run), second: cancelBy(run), ends: "rollback" });
      expect(told).toEqual(cancelling(run));
      expect(await takesBack(run)(stage.onlooker)).toMatchObject({ outcome: "finished", status: "parked" });
      await expectCancelled(run);
    });

    test("that waits for it: the retry stands, and other code that comes is told of the cancel", async () => {
      const { run } = await aRetriedRun();
      const [told, finished] = await stage.collide({ first: cancelBy(run), second: takesBack(run) });
      expect(told).toEqual(cancelling(run));
      expect(finished).toMatchObject({ outcome: "finished", status: "parked" });
      expect(await state(run)).toMatchObject({ epoch: 1, blocked: "other code" });
      expect(await operations(run)).toEqual([
        ["cancel", "cancelling"],
        ["retry", "retried"],
      ]);
      await expectCancelled(run);
    });

    test("that waits for it, and finds that it rolls back: the retry is taken back", async () => {
      const { run, failed } = await aRetriedRun();
      const [, finished] = await stage.collide({ first: cancelBy(run), second: takesBack(run), ends: "rollback" });
      expect(finished).toMatchObject({ outcome: "finished", status: "failed" });
      expect(await rows(run)).toEqual(failed);
      expect(await operations(run)).toEqual([["retry", "would_repeat"]]);
    });
  });
});
