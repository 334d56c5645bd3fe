import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aDemand, aParkedRun, aRecord, aRun, aRunAtWork, at, minute, noon, type Run, second, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "an answer to a callback",
  (database) => {
    const stage = stageOn(database);
    const answer = (run: Run) => (session: Session) => run.answer(session, "approval");
    const park = (run: Run) => (session: Session) =>
      run.finish(session, { token: "first", demands: [aDemand("callback", "approval")] });

    describe("that comes before its wait is recorded", () => {
      test("makes the run ready when the finish that records the wait waits for its lock", async () => {
        const run = await aRunAtWork(stage);
        const [answered, parked] = await stage.collide({ first: answer(run), second: park(run) });
        expect(answered).toMatchObject({ outcome: "answered", turn: null });
        expect(parked).toMatchObject({ outcome: "finished", isReady: true });
      });

      test("leaves nothing when it rolls back: the run parks", async () => {
        const run = await aRunAtWork(stage);
        const [, parked] = await stage.collide({ first: answer(run), second: park(run), ends: "rollback" });
        expect(parked).toMatchObject({ outcome: "finished", isReady: false });
      });

      test("makes the run ready when it waits for the lock of that finish", async () => {
        const run = await aRunAtWork(stage);
        const [parked, answered] = await stage.collide({ first: park(run), second: answer(run) });
        expect(parked).toMatchObject({ isReady: false });
        expect(answered).toMatchObject({ outcome: "answered", turn: 2 });
        expect(await run.state()).toMatchObject({ status: "parked", isReady: true });
      });

      test("is there for that finish when it rolls back and comes again", async () => {
        const run = await aRunAtWork(stage);
        const [, answered] = await stage.collide({ first: park(run), second: answer(run), ends: "rollback" });
        expect(answered).toMatchObject({ outcome: "answered", turn: null });
        expect(await park(run)(stage.onlooker)).toMatchObject({ isReady: true });
      });

      test("makes the run ready when that finish has the lock, but has not looked yet", async () => {
        const run = await aRunAtWork(stage);
        const gate = await stage.gate("layover.pending");
        const [parking, answering] = [await stage.session("parking"), await stage.session("answering")];
        const parked = park(run)(parking);
        await parking.untilBlocked(gate);
        const answered = answer(run)(answering);
        await answering.untilBlocked(parking);
        await gate.commit();
        await Promise.all([parked, answered]);
        expect(await run.state()).toMatchObject({ status: "parked", isReady: true });
      });
    });

    describe("against the timeout of its wait", () => {
      const deadline = noon + 10 * second;
      const aWaitingRun = () => aParkedRun(stage, [aDemand("callback", "approval", { until: deadline })]);
      const claim = (run: Run) => (session: Session) => run.claim(session, { token: "second", turn: 2 });
      const timeOut = (run: Run) => (session: Session) => {
        const { value: _, ...record } = aRecord("callback", "approval", { at: deadline });
        return run.finish(session, { token: "second", next: "ready", records: [record] });
      };

      test("wins when it is stamped at the deadline, and the claim waits for its lock", async () => {
        const run = await aWaitingRun();
        await stage.clock.set(deadline);
        const [answered, claimed] = await stage.collide({ first: answer(run), second: claim(run) });
        expect(answered).toMatchObject({ outcome: "answered" });
        expect(claimed).toMatchObject({ callbacks: [{ path: "approval", answeredAt: deadline }] });
      });

      test("loses when it rolls back", async () => {
        const run = await aWaitingRun();
        await stage.clock.set(deadline);
        const [, claimed] = await stage.collide({ first: answer(run), second: claim(run), ends: "rollback" });
        expect(claimed).toMatchObject({ outcome: "claimed", callbacks: null });
      });

      test("wins when it is stamped before the deadline, and the claim that waits for its lock comes long after", async () => {
        const run = await aWaitingRun();
        await stage.clock.set(deadline - 1);
        const meanwhile = () => stage.clock.advance(10 * second);
        const [, claimed] = await stage.collide({ first: answer(run), second: claim(run), meanwhile });
        expect(claimed).toMatchObject({ callbacks: [{ answeredAt: deadline - 1 }] });
      });

      test.each([
        ["after the deadline", 1],
        ["in the very millisecond of the deadline", 0],
      ])("loses when it waits for the lock of the claim that hands out the timeout, %s", async (_, lateMs) => {
        const run = await aWaitingRun();
        await stage.clock.set(deadline + lateMs);
        const [claimed, answered] = await stage.collide({ first: claim(run), second: answer(run) });
        expect(claimed).toMatchObject({ outcome: "claimed", callbacks: null });
        expect(answered).toEqual({ outcome: "expired" });
        expect(await timeOut(run)(stage.onlooker)).toMatchObject({ outcome: "finished" });
        expect(await answer(run)(stage.onlooker)).toEqual({ outcome: "expired" });
      });

      test("wins when that claim rolls back", async () => {
        const run = await aWaitingRun();
        await stage.clock.set(deadline);
        const [, answered] = await stage.collide({ first: claim(run), second: answer(run), ends: "rollback" });
        expect(answered).toMatchObject({ outcome: "answered" });
        expect(await claim(run)(stage.onlooker)).toMatchObject({ callbacks: [{ path: "approval" }] });
      });

      test("is stamped when it has the lock: it may have waited beyond the deadline", async () => {
        const run = await aWaitingRun();
        const hold = (session: Session) => run.signal(session, "unrelated");
        const meanwhile = () => stage.clock.set(deadline + 1);
        const [, answered] = await stage.collide({ first: hold, second: answer(run), meanwhile });
        expect(answered).toEqual({ outcome: "expired" });
      });

      test("is told that it came too late when it waits for the lock of the finish that records the timeout", async () => {
        const run = await aWaitingRun();
        await stage.clock.set(deadline + 1);
        await claim(run)(stage.onlooker);
        const [timedOut, answered] = await stage.collide({ first: timeOut(run), second: answer(run) });
        expect(timedOut).toMatchObject({ outcome: "finished" });
        expect(answered).toEqual({ outcome: "expired" });
      });
    });

    describe("against a second one", () => {
      const answerBoth = async (values: readonly [string, string], ends: "commit" | "rollback" = "commit") => {
        const run = await aParkedRun(stage, [aDemand("callback", "approval")]);
        const say = (value: string) => (session: Session) => run.answer(session, "approval", { value });
        const answers = await stage.collide({ first: say(values[0]), second: say(values[1]), ends });
        const stored = await stage.look("select value from layover.callback");
        return { outcomes: answers.map(({ outcome }) => outcome), stored: stored.map(({ value }) => value) };
      };

      test("that says the same, both are told that it counts", async () => {
        expect(await answerBoth(["1", "1"])).toEqual({ outcomes: ["answered", "answered"], stored: ["1"] });
      });

      test("that says something else, the first one wins", async () => {
        expect(await answerBoth(["1", "2"])).toEqual({ outcomes: ["answered", "conflict"], stored: ["1"] });
      });

      test("that says something else, the second one wins if the first rolls back", async () => {
        expect(await answerBoth(["1", "2"], "rollback")).toEqual({ outcomes: ["answered", "answered"], stored: ["2"] });
      });
    });

    test("has a waiting run looked at as early as its sender has armed, though the wait has a deadline", async () => {
      const run = await aParkedRun(stage, [aDemand("callback", "approval", { until: noon + 60 * minute })], {
        armed: [noon + 60 * minute],
      });
      expect(await answer(run)(stage.onlooker)).toMatchObject({ turn: 2 });
      expect(await run.state()).toMatchObject({ dueAt: soon });
    });

    test("of an epoch before is no answer to the same place in the next one", async () => {
      const run = await aParkedRun(stage, [aDemand("callback", "approval")]);
      await run.answer(stage.onlooker, "approval", { value: "0true" });
      await run.operate(stage.onlooker, "cancel");
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      await run.finish(stage.onlooker, { token: "second", position: 1, next: "cancelled", value: "0null" });
      await stage.onlooker.call("restart_run", { runId: run.id, callId: randomUUID(), armed: [soon] });
      const later = { runId: run.id, ...at("approval"), outcome: "resolved", value: "0false", armed: [soon] } as const;
      expect(await stage.onlooker.call("answer_callback", { ...later, epoch: 1 })).toMatchObject({
        outcome: "answered",
      });
      const answers = await stage.look("select epoch, value from layover.callback order by epoch");
      expect(answers).toEqual([
        { epoch: 0, value: "0true" },
        { epoch: 1, value: "0false" },
      ]);
    });

    test("that waits for the lock of the finish which ends its run is told that it is over", async () => {
      const run = await aRunAtWork(stage);
      const complete = (session: Session) => run.finish(session, { token: "first", next: "completed", value: "0null" });
      const [, answered] = await stage.collide({ first: complete, second: answer(run) });
      expect(answered).toEqual({ outcome: "over" });
    });

    test("that waits for a claim's lock is seen by the finish of that turn", async () => {
      const run = await aRun(stage);
      const claim = (session: Session) => run.claim(session, { token: "first" });
      const [, answered] = await stage.collide({ first: claim, second: answer(run) });
      expect(answered).toMatchObject({ outcome: "answered", turn: null });
      expect(await park(run)(stage.onlooker)).toMatchObject({ isReady: true });
    });

    test("is offered by the claim that waits for its lock", async () => {
      const run = await aRun(stage);
      const claim = (session: Session) => run.claim(session, { token: "first" });
      const [, claimed] = await stage.collide({ first: answer(run), second: claim });
      expect(claimed).toMatchObject({ outcome: "claimed", callbacks: [{ path: "approval" }] });
    });
  },
  { perTest: true },
);
