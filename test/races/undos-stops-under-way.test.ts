/** A run whose undos are under way, and what else may end or hold it: a cancel, a pause and a termination. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRecord, aRunAtWork, at, minute, noon, type Run } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";
import { notApplicable, nowOn, operate } from "./stopping.ts";
import { claimsOn, endsBy, over } from "./undoing.ts";

const timeoutMs = 3 * minute;

describeSomePostgres(
  "a run that owes undos",
  (database) => {
    const stage = stageOn(database);
    const claim = claimsOn(stage);
    const now = nowOn(stage);
    const claimed = { outcome: "claimed" };
    /** Its second turn, with its first undo, is under way. */
    const anUndoneRun = async () => {
      const run = await aRunAtWork(stage);
      await now(endsBy(run));
      await claim(run, 2);
      return run;
    };

    describe("and whose undos are under way", () => {
      const finishUndo = (run: Run) => (session: Session) =>
        run.finish(session, { token: "turn 2", position: 2, next: "ready", records: [aRecord("step", "[undo]/x")] });
      const end = over(2, 2, "failed");

      test("is not cancelled, and nobody is told to stop", async () => {
        const run = await anUndoneRun();
        expect(await now(operate("cancel", run))).toMatchObject(notApplicable);
        expect(await run.renew(stage.onlooker, "turn 2")).toMatchObject({ outcome: "renewed", cancel: null });
        expect(await now(end(run))).toMatchObject({ outcome: "finished", status: "failed" });
      });

      test("is paused by whoever waits for the finish of an undo: the next one is held until it is resumed", async () => {
        const run = await anUndoneRun();
        const [undone, told] = await stage.collide({ first: finishUndo(run), second: operate("pause", run) });
        expect([undone, told]).toMatchObject([{ outcome: "finished", turn: 3 }, { outcome: "paused" }]);
        expect(await claim(run, 3)).toEqual({ outcome: "paused" });
        expect(await run.state()).toMatchObject({ dueAt: null });
        expect(await now(operate("resume", run))).toMatchObject({ outcome: "resumed", turn: 3 });
        expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 3 });
      });

      test("is paused: the undo under way is recorded, also with a claim that comes along, and the next one is held", async () => {
        const run = await anUndoneRun();
        const next = { turn: 3, token: "turn 3", have: { epoch: 0, position: 3 } };
        const goOn = (session: Session) =>
          run.finish(session, {
            token: "turn 2",
            position: 2,
            next: "ready",
            records: [aRecord("step", "[undo]/x")],
            claim: next,
          });
        const [, undone] = await stage.collide({ first: operate("pause", run), second: goOn });
        expect(undone).toMatchObject({ outcome: "finished", turn: 3 });
        expect(await run.state()).toMatchObject({ status: "parked", token: null, lastPosition: 3 });
        expect(await claim(run, 3)).toEqual({ outcome: "paused" });
        await now(operate("resume", run));
        expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 3 });
      });

      test("waits in a pause for its next attempt, and has it when it is resumed", async () => {
        const run = await anUndoneRun();
        const attempt = {
          ...at("[undo]/x"),
          number: 1,
          beganAt: noon,
          endedAt: noon,
          error: "0null",
          demandedAfter: 2,
        };
        await run.finish(stage.onlooker, { token: "turn 2", position: 2, attempt: { ...attempt, retryInMs: minute } });
        await now(operate("pause", run));
        await stage.clock.advance(10 * minute);
        expect(await claim(run, 3)).toEqual({ outcome: "paused" });
        expect(await now(operate("resume", run))).toMatchObject({ turn: 3 });
        expect(await claim(run, 3)).toMatchObject({ ...claimed, pending: [{ path: "[undo]/x", attempts: 1 }] });
      });

      test("and is terminated by whoever waits for the end: the end stands", async () => {
        const run = await anUndoneRun();
        const [ended, told] = await stage.collide({ first: end(run), second: operate("terminate", run) });
        expect([ended, told]).toMatchObject([{ status: "failed" }, { outcome: "not_applicable", status: "failed" }]);
      });

      test("and is terminated: its undo records nothing more, and none begins", async () => {
        const run = await anUndoneRun();
        const [told, undone] = await stage.collide({ first: operate("terminate", run), second: finishUndo(run) });
        expect([told, undone]).toMatchObject([{ outcome: "terminated" }, { outcome: "superseded" }]);
        expect(await claim(run, 3)).toEqual({ outcome: "over", status: "cancelled" });
        expect(await run.kinds()).toEqual(["step x", "ending"]);
      });

      test("has no timeout any more, however long they take", async () => {
        const run = await aRunAtWork(stage, { timeoutMs });
        await now(endsBy(run));
        await stage.clock.advance(10 * timeoutMs);
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: 2 });
        const late = [aRecord("step", "[undo]/x", { at: noon + 10 * timeoutMs })];
        const last = {
          token: "turn 2",
          position: 2,
          next: "failed",
          value: "0{}",
          failedUndos: 0,
          records: late,
        } as const;
        expect(await run.finish(stage.onlooker, last)).toMatchObject({ outcome: "finished", status: "failed" });
        expect(await run.kinds()).toEqual(["step x", "ending", "step [undo]/x"]);
      });
    });
  },
  { perTest: true },
);
