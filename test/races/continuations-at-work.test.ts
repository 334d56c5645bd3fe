/** A finish that continues as new, and what comes at the same moment from the history that it ends: each in both orders. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { record } from "./branching.ts";
import { aDemand, aParkedRun, aRunAtWork, aWaitFor, minute, noon, type Run, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const ends = ["commit", "rollback"] as const;

describeSomePostgres("a finish that continues as new", (database) => {
  const stage = stageOn(database);
  const continues =
    (run: Run, { token = "second", position = 0 } = {}) =>
    (session: Session) =>
      run.finish(session, { token, position, next: "ready", continues: '0"lap 2"' });

  /** Its second turn is under way. Beside it stands the branch "b", which is claimed with its path as the token, or not. */
  async function aRunBesideABranch({ isClaimed = true } = {}): Promise<Run> {
    const run = await aParkedRun(stage, [aDemand("branch", "b"), aWaitFor("go", { ordinal: 2 })]);
    if (isClaimed) await run.claimBranch(stage.onlooker, "b", { token: "b" });
    await run.signal(stage.onlooker, "go");
    await run.claim(stage.onlooker, { turn: 2, token: "second" });
    return run;
  }

  /** The epoch that it is in, the paths that it waits for, and its records with their epochs. */
  async function historyOf(run: Run) {
    const [row] = await stage.look(
      `select t.epoch, t.last_position as position, array(select b.path from layover.pending b where b.run_id = t.run_id order by b.ordinal) as waits,
          array(select h.epoch || ' ' || h.path from layover.record h where h.run_id = t.run_id order by h.epoch, h.position) as records
         from layover.run_state t where t.run_id = $1`,
      [run.id],
    );
    return row;
  }
  const inLapTwo = { epoch: 1, position: 0, waits: [], records: [] };
  const atWork = { epoch: 0, position: 0, waits: ["b", "go"], records: [] };
  const recorded = { epoch: 0, position: 1, waits: ["b", "go"], records: ["0 b"] };
  const superseded = { outcome: "superseded" };

  /** The branch "b" is of a history that has ended: its renewal and its result are refused. */
  async function expectWithoutBranch(run: Run) {
    expect(await run.renew(stage.onlooker, "b", { path: "b" })).toEqual(superseded);
    expect(await record(run, "b")(stage.onlooker)).toEqual(superseded);
    expect(await historyOf(run)).toEqual(inLapTwo);
  }

  async function claimNext(run: Run, turn: number) {
    await stage.clock.set(noon + 2 * minute); // a lap that waited for nothing begins later
    const turns = [run.toClaim({ turn, token: "next" })];
    return (await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns })).turns[0];
  }

  describe("and the result of a branch", () => {
    test("that it waited for: the result is recorded, and the continuation left to the next turn, which has seen it", async () => {
      const run = await aRunBesideABranch();
      const told = await stage.collide({ first: record(run, "b"), second: continues(run) });
      expect(told).toMatchObject([{ outcome: "finished" }, { outcome: "deferred", isReady: true }]);
      expect(await historyOf(run)).toEqual(recorded);
      expect(await claimNext(run, 3)).toMatchObject({ outcome: "claimed", epoch: 0, position: 1 });
      await continues(run, { token: "next", position: 1 })(stage.onlooker);
      expect(await historyOf(run)).toEqual({ ...inLapTwo, records: ["0 b"] });
    });

    test("that it waited for, and that rolls back: it continues", async () => {
      const run = await aRunBesideABranch();
      const [, told] = await stage.collide({ first: record(run, "b"), second: continues(run), ends: "rollback" });
      expect(told).toMatchObject({ outcome: "finished" });
      await expectWithoutBranch(run);
    });

    test("that waits for it: the result is recorded nowhere", async () => {
      const run = await aRunBesideABranch();
      const [told, late] = await stage.collide({ first: continues(run), second: record(run, "b") });
      expect([told, late]).toMatchObject([{ outcome: "finished" }, superseded]);
      await expectWithoutBranch(run);
    });

    test("that waits for it, where it rolls back: the result is recorded, and it is deferred when it comes again", async () => {
      const run = await aRunBesideABranch();
      const [, told] = await stage.collide({ first: continues(run), second: record(run, "b"), ends: "rollback" });
      expect(told).toMatchObject({ outcome: "finished" });
      expect(await historyOf(run)).toEqual(recorded);
      expect(await continues(run)(stage.onlooker)).toMatchObject({ outcome: "deferred" });
    });
  });

  describe("and the claim of a branch", () => {
    const claim = (run: Run) => (session: Session) => run.claimBranch(session, "b", { token: "b" });

    test.each(ends)("that it waited for: it continues, and nothing of the branch counts (%s)", async (how) => {
      const run = await aRunBesideABranch({ isClaimed: false });
      const told = await stage.collide({ first: claim(run), second: continues(run), ends: how });
      expect(told).toMatchObject([{ outcome: "claimed" }, { outcome: "finished" }]);
      await expectWithoutBranch(run);
    });

    test("that waits for it: the branch is gone", async () => {
      const run = await aRunBesideABranch({ isClaimed: false });
      const told = await stage.collide({ first: continues(run), second: claim(run) });
      expect(told).toMatchObject([{ outcome: "finished" }, superseded]);
      await expectWithoutBranch(run);
    });

    test("that waits for it, where it rolls back: the branch is claimed, and may record", async () => {
      const run = await aRunBesideABranch({ isClaimed: false });
      const [, told] = await stage.collide({ first: continues(run), second: claim(run), ends: "rollback" });
      expect(told).toMatchObject({ outcome: "claimed", epoch: 0 });
      expect(await record(run, "b")(stage.onlooker)).toMatchObject({ outcome: "finished" });
      expect(await historyOf(run)).toEqual(recorded);
    });
  });

  describe("and the renewal of a branch", () => {
    const renew = (run: Run) => (session: Session) => run.renew(session, "b", { path: "b" });

    test.each(ends)("that it waited for: it continues, and the next renewal is told so (%s)", async (how) => {
      const run = await aRunBesideABranch();
      const told = await stage.collide({ first: renew(run), second: continues(run), ends: how });
      expect(told).toMatchObject([{ outcome: "renewed" }, { outcome: "finished" }]);
      await expectWithoutBranch(run);
    });

    test("that waits for it is told so", async () => {
      const run = await aRunBesideABranch();
      const told = await stage.collide({ first: continues(run), second: renew(run) });
      expect(told).toMatchObject([{ outcome: "finished" }, superseded]);
      await expectWithoutBranch(run);
    });

    test("that waits for it, where it rolls back: the branch goes on", async () => {
      const run = await aRunBesideABranch();
      const [, told] = await stage.collide({ first: continues(run), second: renew(run), ends: "rollback" });
      expect(told).toMatchObject({ outcome: "renewed" });
      expect(await historyOf(run)).toEqual(atWork);
    });
  });

  describe("and a signal", () => {
    const signal = (run: Run) => (session: Session) => run.signal(session, "go", { payload: '0"early"' });
    const byFirst = (run: Run) => continues(run, { token: "first" });
    const offered = { outcome: "claimed", epoch: 1, signals: [{ name: "go", payload: '0"early"' }] };

    test("that it waited for: the next history is offered it", async () => {
      const run = await aRunAtWork(stage);
      const told = await stage.collide({ first: signal(run), second: byFirst(run) });
      expect(told).toMatchObject([{ outcome: "sent" }, { outcome: "finished" }]);
      expect(await claimNext(run, 2)).toMatchObject(offered);
    });

    test("that it waited for, and that rolls back: the next history has no mail", async () => {
      const run = await aRunAtWork(stage);
      await stage.collide({ first: signal(run), second: byFirst(run), ends: "rollback" });
      expect(await claimNext(run, 2)).toMatchObject({ outcome: "claimed", epoch: 1, signals: null });
    });

    test("that waits for it: the next history is offered it", async () => {
      const run = await aRunAtWork(stage);
      const told = await stage.collide({ first: byFirst(run), second: signal(run) });
      expect(told).toMatchObject([{ outcome: "finished" }, { outcome: "sent" }]);
      expect(await claimNext(run, 2)).toMatchObject(offered);
    });

    test("that waits for it, where it rolls back: the next history is offered it once it has come again", async () => {
      const run = await aRunAtWork(stage);
      const [, told] = await stage.collide({ first: byFirst(run), second: signal(run), ends: "rollback" });
      expect(told).toMatchObject({ outcome: "sent" });
      expect(await historyOf(run)).toMatchObject({ epoch: 0 });
      expect(await byFirst(run)(stage.onlooker)).toMatchObject({ outcome: "finished" });
      expect(await claimNext(run, 2)).toMatchObject(offered);
    });
  });
});
