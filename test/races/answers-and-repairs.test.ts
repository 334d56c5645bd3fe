/** An answer to a callback and a restart or a retry of the run that made its URL: each in both orders. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { NewDemand, NewRecord } from "../../src/postgres/wire.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { aDemand, aRecord, aRunAtWork, at, aWaitFor, type Run, soon, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

/** URLs that the run made in its epoch 0: ahead of the cut, and behind it. */
const [early, late] = [
  { epoch: 0, madeAt: 1 },
  { epoch: 0, madeAt: 3 },
];

describeSomePostgres("an answer to a callback", (database) => {
  const stage = stageOn(database);
  const answer =
    (run: Run, url: { readonly epoch: number; readonly madeAt: number }, value = "0true") =>
    (session: Session) =>
      session.call("answer_callback", {
        ...{ runId: run.id, ...at("approval"), outcome: "resolved", value, armed: [soon] },
        ...url,
      });
  const repair = (verb: "restart_run" | "retry_run", run: Run, more: object) => (session: Session) =>
    session.call(verb, { runId: run.id, callId: randomUUID(), armed: [soon], ...more });
  const answers = (run: Run) =>
    stage.look("select epoch, outcome, value, position from layover.callback where run_id = $1 order by epoch", [
      run.id,
    ]);
  const stateOf = async (run: Run) =>
    (await stage.look("select epoch, status, has_mail from layover.run_state where run_id = $1", [run.id]))[0];
  const untaken = { epoch: 0, outcome: "resolved", value: "0true", position: null };

  /** Claims this turn, and answers the epochs and values of the answers that it is offered, or the outcome if it is not claimed. */
  async function offered(run: Run, turn: number) {
    const turns = [run.toClaim({ turn, token: `turn ${turn}` })];
    const told = await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns });
    const [claimed] = told.turns;
    if (claimed === undefined || !("callbacks" in claimed)) return claimed?.outcome;
    return (claimed.callbacks ?? []).map(({ path, epoch, value }) => [path, epoch, value]);
  }
  const finish = (run: Run, turn: number, what: { demands?: readonly NewDemand[]; records?: readonly NewRecord[] }) =>
    run.finish(stage.onlooker, { token: `turn ${turn}`, position: 2, next: "parked", ...what });
  const its = ["approval", 0, "0true"];

  /** The claim of its turn 3 offers the answer. What waits for it by the old URL has it, once. */
  async function expectTaken(run: Run, position: number): Promise<void> {
    expect(await answers(run)).toEqual([untaken]);
    expect(await stateOf(run)).toEqual({ epoch: 1, status: "parked", has_mail: true });
    expect(await offered(run, 3)).toEqual([its]);
    const wait = aDemand("callback", "approval", { callbackEpoch: 0, demandedAfter: position });
    expect(await run.finish(stage.onlooker, { token: "turn 3", position, demands: [wait] })).toMatchObject({
      ...{ outcome: "finished", turn: 4, isReady: true },
    });
    expect(await offered(run, 4)).toEqual([its]);
    const records = [aRecord("callback", "approval", { value: "0true", callbackEpoch: 0 })];
    expect(await run.finish(stage.onlooker, { token: "turn 4", position, records, next: "ready" })).toMatchObject({
      outcome: "finished",
    });
    expect(await offered(run, 5)).toEqual([]);
    expect(await answers(run)).toEqual([{ ...untaken, position: position + 1 }]);
  }

  describe("and the restart of its paused run", () => {
    /** It waits for an answer behind its steps `a`, `b` and `c`, of which a restart drops the last one. */
    async function aPausedRun(): Promise<Run> {
      const run = await aRunAtWork(stage);
      const records = ["a", "b", "c"].map((path) => aRecord("step", path));
      const demands = [aDemand("callback", "approval", { demandedAfter: 3 })];
      await run.finish(stage.onlooker, { token: "first", records, demands });
      await run.operate(stage.onlooker, "pause");
      return run;
    }
    const restart = (run: Run) => repair("restart_run", run, { from: at("c") });
    const restarted = { outcome: "restarted", epoch: 1, kept: 2, dropped: 1, turn: 3 };
    const answered = { outcome: "answered", turn: null };
    const expectPaused = async (run: Run) => {
      expect(await stateOf(run)).toEqual({ epoch: 0, status: "parked", has_mail: true });
      expect(await offered(run, 2)).toBe("paused");
      await run.operate(stage.onlooker, "resume");
      expect(await offered(run, 2)).toEqual([its]);
    };

    describe("from behind the place of its URL", () => {
      test("that comes first: the next epoch has it", async () => {
        const run = await aPausedRun();
        const [began, told] = await stage.collide({ first: restart(run), second: answer(run, early) });
        expect([began, told]).toMatchObject([restarted, answered]);
        await expectTaken(run, 2);
      });

      test("that comes first and rolls back: the wait as it was has it", async () => {
        const run = await aPausedRun();
        const collision = { first: restart(run), second: answer(run, early) };
        const [, told] = await stage.collide({ ...collision, ends: "rollback" });
        expect(told).toMatchObject(answered);
        await expectPaused(run);
      });

      test("that waits for it: the next epoch has it", async () => {
        const run = await aPausedRun();
        const [told, began] = await stage.collide({ first: answer(run, early), second: restart(run) });
        expect([told, began]).toMatchObject([answered, restarted]);
        await expectTaken(run, 2);
      });

      test("that waits for it, and it rolls back: the next epoch waits, and has it when it comes again", async () => {
        const run = await aPausedRun();
        const collision = { first: answer(run, early), second: restart(run) };
        const [, began] = await stage.collide({ ...collision, ends: "rollback" });
        expect(began).toMatchObject(restarted);
        expect([await answers(run), await stateOf(run)]).toMatchObject([[], { epoch: 1, has_mail: false }]);
        expect(await answer(run, early)(stage.onlooker)).toMatchObject(answered);
        await expectTaken(run, 2);
      });
    });

    describe("from ahead of the place of its URL", () => {
      /** The next epoch waits by a URL of its own, which is answered by itself. */
      async function expectOwnAnswer(run: Run): Promise<void> {
        const wait = aDemand("callback", "approval", { demandedAfter: 2 });
        const parked = await finish(run, 3, { demands: [wait, aWaitFor("go", { ordinal: 2, demandedAfter: 2 })] });
        expect(parked).toMatchObject({ outcome: "finished", turn: 4, isReady: false });
        await run.signal(stage.onlooker, "go");
        expect(await offered(run, 4)).toEqual([]);
        expect(await finish(run, 4, {})).toMatchObject({ outcome: "finished", turn: 5 });
        const own = { epoch: 1, madeAt: 2 };
        expect(await answer(run, own, "0false")(stage.onlooker)).toMatchObject({ outcome: "answered" });
        expect(await offered(run, 5)).toEqual([["approval", 1, "0false"]]);
      }

      test("that comes first: the URL is dead", async () => {
        const run = await aPausedRun();
        const [began, told] = await stage.collide({ first: restart(run), second: answer(run, late) });
        expect(began).toMatchObject(restarted);
        expect(told).toEqual({ outcome: "over" });
        expect([await answers(run), await stateOf(run)]).toMatchObject([[], { epoch: 1, has_mail: false }]);
        expect(await offered(run, 3)).toEqual([]);
        await expectOwnAnswer(run);
      });

      test("that comes first and rolls back: the wait as it was has it", async () => {
        const run = await aPausedRun();
        const collision = { first: restart(run), second: answer(run, late) };
        const [, told] = await stage.collide({ ...collision, ends: "rollback" });
        expect(told).toMatchObject(answered);
        await expectPaused(run);
      });

      test("that waits for it: it counts in the epoch before, and in no wait of the next one", async () => {
        const run = await aPausedRun();
        const [told, began] = await stage.collide({ first: answer(run, late), second: restart(run) });
        expect([told, began]).toMatchObject([answered, restarted]);
        expect(await answers(run)).toEqual([untaken]);
        expect(await offered(run, 3)).toEqual([its]); // The replay takes no answer of another epoch than its wait's.
        await expectOwnAnswer(run);
      });
    });
  });

  describe("and the retry of its failed run", () => {
    async function aFailedRun(): Promise<Run> {
      const run = await aRunAtWork(stage);
      await run.finish(stage.onlooker, {
        ...{ token: "first", records: [aRecord("step", "a"), aRecord("step", "b", { isFailure: true })] },
        ...{ next: "failed", value: "0{}", failure: { at: 2, timeouts: [], lost: [], repeats: [] } },
      });
      return run;
    }
    const retry = (run: Run) => repair("retry_run", run, {});
    const retried = { outcome: "retried", epoch: 1, kept: 1, dropped: 1, turn: 3 };

    test("that comes first: the next epoch has it", async () => {
      const run = await aFailedRun();
      const [began, told] = await stage.collide({ first: retry(run), second: answer(run, early) });
      expect([began, told]).toMatchObject([retried, { outcome: "answered", turn: null }]);
      await expectTaken(run, 1);
    });

    test("that comes first and rolls back: the run is over", async () => {
      const run = await aFailedRun();
      const collision = { first: retry(run), second: answer(run, early) };
      const [, told] = await stage.collide({ ...collision, ends: "rollback" });
      expect(told).toEqual({ outcome: "over" });
      expect([await answers(run), await stateOf(run)]).toMatchObject([[], { epoch: 0, status: "failed" }]);
    });

    test.each(["commit", "rollback"] as const)("that waits for it: the run is over for it (%s)", async (ends) => {
      const run = await aFailedRun();
      const [told, began] = await stage.collide({ first: answer(run, early), second: retry(run), ends });
      expect(told).toEqual({ outcome: "over" });
      expect(began).toMatchObject(retried);
      expect(await answers(run)).toEqual([]);
      expect(await offered(run, 3)).toEqual([]);
    });
  });
});
