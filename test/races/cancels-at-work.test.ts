/** A cancel, and what is at work or comes at the same time: each in both orders. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aBegunRun,
  aDemand,
  aFanOut,
  aParkedRun,
  aRecord,
  aRunAtWork,
  at,
  aWaitFor,
  minute,
  noon,
  type Run,
  soon,
  terms,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a cancel",
  (database) => {
    const stage = stageOn(database);
    const cancelBy = (run: Run) => (session: Session) => run.operate(session, "cancel");
    const callOf =
      (name: "claim_turns" | "finish_turns", ...turns: object[]) =>
      async (session: Session) =>
        (await session.call(name, { ...terms, turns })).turns;
    const claim = (run: Run, turn: number) => run.claim(stage.onlooker, { turn, token: `turn ${turn}` });
    const busy = (run: Run) => ({ outcome: "cancelling", runId: run.id });
    const free = (run: Run, turn: number) => ({ ...busy(run), turn });
    const records = [aRecord("step", "a")];
    const written = { outcome: "claimed", records: [expect.arrayContaining(["closing"])] };

    describe("and a finish that ends the run", () => {
      const complete = (run: Run) => (session: Session) =>
        run.finish(session, { token: "first", next: "completed", value: "0true", records });

      test("that it waited for: it does not apply any more", async () => {
        const run = await aRunAtWork(stage);
        const [, told] = await stage.collide({ first: complete(run), second: cancelBy(run) });
        expect(told).toEqual({ outcome: "not_applicable", runId: run.id, status: "completed" });
        expect(await run.state()).toMatchObject({ status: "completed", result: "0true" });
      });

      test("that it waited for, and that rolls back: the run closes", async () => {
        const run = await aRunAtWork(stage);
        const [, told] = await stage.collide({ first: complete(run), second: cancelBy(run), ends: "rollback" });
        expect(told).toEqual(busy(run));
        expect(await complete(run)(stage.onlooker)).toMatchObject({ status: "parked", isReady: true });
      });

      test.each(["completed", "failed"] as const)(
        "that waits for it keeps its records and does not end the run: %s",
        async (next) => {
          const run = await aRunAtWork(stage);
          const end = (session: Session) => run.finish(session, { token: "first", next, value: "0true", records });
          const [told, finished] = await stage.collide({ first: cancelBy(run), second: end });
          const parked = { outcome: "finished", turn: 2, status: "parked", isReady: true };
          expect([told, finished]).toEqual([busy(run), parked]);
          expect(await end(stage.onlooker)).toEqual(parked); // the same finish again
          expect(await run.state()).toMatchObject({ result: null, isReady: true, dueAt: soon });
          expect(await claim(run, 2)).toMatchObject({ outcome: "claimed", position: 2 });
          expect(await run.kinds()).toEqual(["step a", "closing"]);
          const over = { token: "turn 2", position: 2, next: "cancelled" as const, value: "0{}" };
          expect(await run.finish(stage.onlooker, over)).toMatchObject({ outcome: "finished", status: "cancelled" });
        },
      );

      const three = async () => [await aRunAtWork(stage), await aRunAtWork(stage), await aRunAtWork(stage)] as const;
      const completeAll = (runs: readonly Run[]) =>
        callOf(
          "finish_turns",
          ...runs.map((run) => run.toFinish({ token: "first", next: "completed", value: "0true", records })),
        );

      test("among others, that waits for it: only its own run goes on", async () => {
        const runs = await three();
        const [, answers] = await stage.collide({ first: cancelBy(runs[1]), second: completeAll(runs) });
        expect(answers).toMatchObject([
          { status: "completed" },
          { status: "parked", isReady: true },
          { status: "completed" },
        ]);
        for (const run of runs) expect(await run.kinds()).toEqual(["step a"]);
      });

      test("among others, that it waited for: it does not apply any more", async () => {
        const runs = await three();
        const [, told] = await stage.collide({ first: completeAll(runs), second: cancelBy(runs[1]) });
        expect(told).toMatchObject({ outcome: "not_applicable", status: "completed" });
      });
    });

    describe("and a finish that parks the run", () => {
      const park = (run: Run) => (session: Session) =>
        run.finish(session, { token: "first", records, demands: [aWaitFor("address", { demandedAfter: 1 })] });

      test("that it waited for: the run is ready, and the wait goes when the cancel is written", async () => {
        const run = await aRunAtWork(stage);
        const [, told] = await stage.collide({ first: park(run), second: cancelBy(run) });
        expect(told).toEqual(free(run, 2));
        expect(Object.keys(await run.pending())).toEqual(["address"]);
        expect(await claim(run, 2)).toMatchObject({ position: 2, pending: null });
        expect(await run.pending()).toEqual({});
      });

      test("that waits for it: the run is ready", async () => {
        const run = await aRunAtWork(stage);
        const [told, finished] = await stage.collide({ first: cancelBy(run), second: park(run) });
        expect(told).toEqual(busy(run));
        expect(finished).toMatchObject({ outcome: "finished", turn: 2, isReady: true, readyAt: null });
        expect(await run.state()).toMatchObject({ isReady: true, dueAt: soon });
        expect(await claim(run, 2)).toMatchObject({ position: 2, pending: null });
        expect(await run.kinds()).toEqual(["step a", "closing"]);
      });

      test("to be tried again later, that waits for it: the run is ready now", async () => {
        const run = await aRunAtWork(stage);
        const setBack = (session: Session) => run.finish(session, { token: "first", setback: "slow" });
        const [, finished] = await stage.collide({ first: cancelBy(run), second: setBack });
        expect(finished).toMatchObject({ outcome: "finished", isReady: true });
        expect(await claim(run, 2)).toMatchObject({ outcome: "claimed", position: 1 });
      });

      test("after an attempt that is tried again later, that waits for it: the run is ready now", async () => {
        const run = await aRunAtWork(stage);
        const attempt = { ...at("b"), number: 1, beganAt: noon, endedAt: noon, error: "0null", demandedAfter: 0 };
        const fail = (session: Session) =>
          run.finish(session, { token: "first", attempt: { ...attempt, retryInMs: 10 * minute } });
        const [, finished] = await stage.collide({ first: cancelBy(run), second: fail });
        expect(finished).toMatchObject({ outcome: "finished", isReady: true });
        expect(await claim(run, 2)).toMatchObject({ position: 1, pending: null });
        expect(await run.pending()).toEqual({});
      });

      test("and is deferred, since a branch was recorded meanwhile: the run is ready", async () => {
        const run = await aFanOut(stage, ["b", "c"]);
        await run.finishBranch(stage.onlooker, "b", { token: "b" });
        await claim(run, 2);
        await run.finishBranch(stage.onlooker, "c", { token: "c" });
        const park = (session: Session) =>
          run.finish(session, { token: "turn 2", position: 1, demands: [aWaitFor("address")] });
        const [told, deferred] = await stage.collide({ first: cancelBy(run), second: park });
        expect([told, deferred]).toMatchObject([busy(run), { outcome: "deferred", isReady: true }]);
        await claim(run, 3);
        expect(await run.kinds()).toEqual(["step b", "step c", "closing"]);
      });
    });

    describe("and a finish that goes on with the claim of its next turn", () => {
      const goOn = (run: Run) =>
        run.toFinish({
          token: "first",
          next: "ready",
          records,
          claim: { turn: 2, token: "turn 2", have: { epoch: 0, position: 1 } },
        });

      test("that it waited for: the next turn is at work, and is told by its renewal", async () => {
        const run = await aRunAtWork(stage);
        const [finished, told] = await stage.collide({
          first: callOf("finish_turns", goOn(run)),
          second: cancelBy(run),
        });
        expect(finished).toMatchObject([{ claim: { outcome: "claimed" } }]);
        expect(told).toEqual(busy(run));
        expect(await run.renew(stage.onlooker, "turn 2")).toMatchObject({ cancel: { reason: "to see" } });
      });

      test("that waits for it: the claim that comes along writes the cancel", async () => {
        const run = await aRunAtWork(stage);
        const [, finished] = await stage.collide({
          first: cancelBy(run),
          second: callOf("finish_turns", goOn(run)),
        });
        expect(finished).toMatchObject([{ outcome: "finished", turn: 2, claim: { ...written, position: 2 } }]);
        expect(await run.kinds()).toEqual(["step a", "closing"]);
      });

      test("among others, that waits for it: the others just go on", async () => {
        const runs = [await aRunAtWork(stage), await aRunAtWork(stage)] as const;
        const [, answers] = await stage.collide({
          first: cancelBy(runs[1]),
          second: callOf("finish_turns", ...runs.map(goOn)),
        });
        expect(answers).toMatchObject([{ claim: { outcome: "claimed", position: 1 } }, { claim: written }]);
        expect(await runs[0].kinds()).toEqual(["step a"]);
      });
    });

    describe("and the claim of the run", () => {
      const first = (run: Run) => (session: Session) => run.claim(session, { token: "first" });

      test("that waits for it: the claim writes it", async () => {
        const run = await aBegunRun(stage);
        const [told, claimed] = await stage.collide({ first: cancelBy(run), second: first(run) });
        expect([told, claimed]).toMatchObject([free(run, 1), { ...written, position: 1 }]);
        expect(await first(run)(stage.onlooker)).toMatchObject({ ...written, position: 1 }); // the same claim again
        expect(await run.kinds()).toEqual(["closing"]);
      });

      test("that it waited for: the turn is at work, and nobody else is to claim it", async () => {
        const run = await aBegunRun(stage);
        const [claimed, told] = await stage.collide({ first: first(run), second: cancelBy(run) });
        expect([claimed, told]).toMatchObject([{ outcome: "claimed", position: 0 }, busy(run)]);
        expect(told).toEqual(busy(run));
        const again = await run.claim(stage.onlooker, { token: "again" });
        expect(again).toEqual({ outcome: "busy", until: noon + minute });
      });

      test("among others, that waits for it: the others just begin", async () => {
        const runs = [await aBegunRun(stage), await aBegunRun(stage)] as const;
        const [, answers] = await stage.collide({
          first: cancelBy(runs[1]),
          second: callOf("claim_turns", ...runs.map((run) => run.toClaim({ token: "first" }))),
        });
        expect(answers).toMatchObject([
          { outcome: "claimed", position: 0 },
          { ...written, position: 1 },
        ]);
      });
    });

    describe("and what comes in by mail", () => {
      test("a signal that it waited for stays, and nobody takes it", async () => {
        const run = await aParkedRun(stage, [aWaitFor("address")]);
        const send = (session: Session) => run.signal(session, "address");
        const [sent, told] = await stage.collide({ first: send, second: cancelBy(run) });
        expect([sent, told]).toMatchObject([{ outcome: "sent", turn: 2 }, free(run, 2)]);
        expect(await claim(run, 2)).toMatchObject({ position: 1, pending: null });
        expect(await stage.look("select position from layover.signal")).toEqual([{ position: null }]);
      });

      test("a signal that waits for it is sent, sends for nobody, and is over with the run", async () => {
        const run = await aParkedRun(stage, [aWaitFor("address")]);
        const send = (session: Session) => run.signal(session, "address");
        const [, sent] = await stage.collide({ first: cancelBy(run), second: send });
        expect(sent).toMatchObject({ outcome: "sent", turn: null });
        await claim(run, 2);
        expect(await send(stage.onlooker)).toMatchObject({ outcome: "sent", turn: null });
        await run.finish(stage.onlooker, { token: "turn 2", position: 1, next: "cancelled", value: "0{}" });
        expect(await send(stage.onlooker)).toMatchObject({ outcome: "over", status: "cancelled" });
      });

      test("a callback's answer that it waited for is kept, and nobody takes it", async () => {
        const run = await aParkedRun(stage, [aDemand("callback", "approval")]);
        const answer = (session: Session) => run.answer(session, "approval");
        const [answered, told] = await stage.collide({ first: answer, second: cancelBy(run) });
        expect([answered, told]).toMatchObject([{ outcome: "answered", turn: 2 }, free(run, 2)]);
        expect(await claim(run, 2)).toMatchObject({ position: 1, pending: null });
      });

      test("a callback's answer that waits for it is kept, and is over once the cancel is written", async () => {
        const run = await aParkedRun(stage, [aDemand("callback", "approval"), aDemand("callback", "other")]);
        const answer = (session: Session) => run.answer(session, "approval");
        const [, answered] = await stage.collide({ first: cancelBy(run), second: answer });
        expect(answered).toMatchObject({ outcome: "answered", turn: null });
        await claim(run, 2);
        expect(await answer(stage.onlooker)).toMatchObject({ outcome: "answered" }); // the same answer again
        expect(await run.answer(stage.onlooker, "other")).toEqual({ outcome: "over" });
      });

      test("and a termination: the run ends at once, whichever came first", async () => {
        const [run, other] = [await aRunAtWork(stage), await aRunAtWork(stage)];
        const terminate = (of: Run) => (session: Session) => of.operate(session, "terminate");
        const [, ended] = await stage.collide({ first: cancelBy(run), second: terminate(run) });
        expect(ended).toMatchObject({ outcome: "terminated" });
        const [, told] = await stage.collide({ first: terminate(other), second: cancelBy(other) });
        expect(told).toMatchObject({ outcome: "not_applicable", status: "cancelled" });
        expect([...(await run.kinds()), ...(await other.kinds())]).toEqual([]);
      });
    });
  },
  { perTest: true },
);
