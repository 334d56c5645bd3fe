/** What reaches a run that is paused or blocked is kept, and nobody is sent for it: it has no instant at which to look. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aDemand,
  aFanOut,
  aParkedRun,
  aRecord,
  aRunAtWork,
  aWaitFor,
  branches,
  minute,
  noon,
  type Run,
  second,
} from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "of a run that stands still",
  (database) => {
    const stage = stageOn(database);
    const pause = (run: Run) =>
      stage.onlooker.query("update layover.run_state set paused_at = layover.now(), due_at = null where run_id = $1", [
        run.id,
      ]);
    const block = (run: Run) =>
      stage.onlooker.query("update layover.run_state set blocked = 'by other code', due_at = null where run_id = $1", [
        run.id,
      ]);
    const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null" };

    describe.each([
      ["paused", pause],
      ["blocked", block],
    ])("because it is %s", (_, stop) => {
      test("a finish that goes on is recorded", async () => {
        const run = await aRunAtWork(stage);
        await stop(run);
        const finish = { token: "first", next: "ready", records: [aRecord("step", "charge")] } as const;
        expect(await run.finish(stage.onlooker, finish)).toMatchObject({ outcome: "finished", turn: 2 });
        expect(await run.state()).toMatchObject({ status: "parked", lastPosition: 1, dueAt: null });
      });

      test("a finish claims no next turn", async () => {
        const run = await aRunAtWork(stage);
        await stop(run);
        const claim = { token: "second", turn: 2, have: { epoch: 0, position: 1 } };
        await run.finish(stage.onlooker, {
          token: "first",
          next: "ready",
          records: [aRecord("step", "charge")],
          claim,
        });
        expect(await run.history()).toEqual(["charge"]);
        if (stop === pause) expect(await run.state()).toMatchObject({ status: "parked", token: null });
      });

      test("a finish that waits is recorded, with what it waits for", async () => {
        const run = await aRunAtWork(stage);
        await stop(run);
        const finish = { token: "first", demands: [...branches(["a"]), aWaitFor("address", { until: noon + minute })] };
        expect(await run.finish(stage.onlooker, finish)).toMatchObject({ outcome: "finished", isReady: false });
        expect(await run.state()).toMatchObject({ status: "parked", dueAt: null });
        expect(Object.keys(await run.pending())).toHaveLength(2);
      });

      test("an attempt that failed is recorded", async () => {
        const run = await aRunAtWork(stage);
        await stop(run);
        const failed = { ...attempt, path: "charge", occurrence: 1, demandedAfter: 0, retryInMs: second };
        await run.finish(stage.onlooker, { token: "first", attempt: failed });
        expect(await run.state()).toMatchObject({ readyAt: noon + second, dueAt: null });
      });

      test("a finish that saw less than there is, is deferred", async () => {
        const run = await aFanOut(stage, ["a"]);
        await stage.onlooker.query("update layover.run_state set ready_at = layover.now()");
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await stop(run);
        const deferred = await run.finish(stage.onlooker, { token: "second", position: 0 });
        expect(deferred).toMatchObject({ outcome: "deferred", isReady: false });
        expect(await run.state()).toMatchObject({ status: "parked", isReady: true, dueAt: null });
      });

      test("the result of a branch is recorded, and nobody is told to go on", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await stop(run);
        const answer = await run.finishBranch(stage.onlooker, "a", { token: "a" });
        expect(answer).toMatchObject({ outcome: "finished", turn: 2, continues: null });
        expect(await run.state()).toMatchObject({ isReady: true, dueAt: null, lastPosition: 1 });
      });

      test("the results of several branches are recorded, and nobody is told to go on", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await stop(run);
        const turns = ["a", "b"].map((path) => run.toFinishBranch(path, { token: path }));
        expect((await stage.onlooker.call("finish_turns", { turns })).turns).toMatchObject(
          turns.map(() => ({ outcome: "finished", turn: 2, continues: null })),
        );
        expect(await run.state()).toMatchObject({ isReady: true, dueAt: null, lastPosition: 2 });
      });

      test("a signal that it waits for is kept, and nobody is told to go on", async () => {
        const run = await aParkedRun(stage, [aWaitFor("address")]);
        await stop(run);
        expect(await run.signal(stage.onlooker, "address")).toMatchObject({ outcome: "sent", turn: null });
        expect(await run.state()).toMatchObject({ isReady: true, dueAt: null });
      });

      test("an answer that it waits for is kept, and nobody is told to go on", async () => {
        const run = await aParkedRun(stage, [aDemand("callback", "approval")]);
        await stop(run);
        expect(await run.answer(stage.onlooker, "approval")).toMatchObject({ outcome: "answered", turn: null });
        expect(await run.state()).toMatchObject({ isReady: true, dueAt: null });
      });
    });

    test("once it is tried again, by a process that dies, it is claimed by the next one", async () => {
      const run = await aParkedRun(stage, [aWaitFor("address")]);
      await block(run);
      expect(await run.claim(stage.onlooker, { token: "second", turn: 2 })).toMatchObject({ outcome: "claimed" });
      await stage.clock.advance(2 * minute);
      const claim = { token: "third", turn: 2, alone: true };
      expect(await run.claim(stage.onlooker, claim)).toMatchObject({ outcome: "claimed" });
      expect(await run.state()).toMatchObject({ lost: 1 });
    });

    test.each([["a"], ["a", "b"]])(
      "while a turn is under way, nobody is told to go on by the results of %s",
      async (...paths) => {
        const run = await aParkedRun(stage, [...branches(["a", "b"]), aWaitFor("address", { ordinal: 3 })]);
        for (const path of paths) await run.claimBranch(stage.onlooker, path, { token: path });
        await stage.onlooker.query("update layover.run_state set ready_at = layover.now()");
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        await stage.onlooker.query("update layover.run_state set ready_at = null");
        const turns = paths.map((path) => run.toFinishBranch(path, { token: path }));
        expect((await stage.onlooker.call("finish_turns", { turns })).turns).toMatchObject(
          turns.map(() => ({ outcome: "finished", continues: null })),
        );
        expect(await run.finish(stage.onlooker, { token: "second" })).toMatchObject({
          outcome: "deferred",
          isReady: true,
        });
      },
    );
  },
  { perTest: true },
);
