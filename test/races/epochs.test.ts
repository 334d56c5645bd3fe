/** The verbs that begin another epoch, and what meets them: each waits for the other's lock, and then looks. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aParkedRun, aRecord, aRun, aRunAtWork, aWaitFor, type Run, soon, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres("another epoch", (database) => {
  const stage = stageOn(database);
  const call = (run: Run, more: object = {}) => ({ runId: run.id, callId: randomUUID(), armed: [soon], ...more });
  const retry = (run: Run, more?: object) => (session: Session) => session.call("retry_run", call(run, more));
  const restart = (run: Run, more?: object) => (session: Session) => session.call("restart_run", call(run, more));
  const claim = (run: Run, turn: number, token: string) => (session: Session) =>
    session
      .call("claim_turns", { ...terms, knowsEpochs: true, turns: [run.toClaim({ turn, token })] })
      .then(({ turns }) => turns[0]);
  const epochOf = async (run: Run) => {
    const [row] = await stage.look(
      `select s.epoch, s.status, s.last_position, (select count(*)::integer from layover.record h
         where h.run_id = s.run_id and h.epoch = s.epoch) as records from layover.run_state s where s.run_id = $1`,
      [run.id],
    );
    return row;
  };

  /** A run whose second step has failed it. */
  async function aFailedRun(): Promise<Run> {
    const run = await aRunAtWork(stage);
    await run.finish(stage.onlooker, {
      token: "first",
      records: [aRecord("step", "a"), aRecord("step", "b", { isFailure: true })],
      next: "failed",
      value: "0{}",
      failure: { at: 2, timeouts: [], lost: [], repeats: [] },
    });
    return run;
  }

  describe("of two acts at once", () => {
    test("the second retry finds a run that is not failed any more", async () => {
      const run = await aFailedRun();
      const [first, second] = await stage.collide({ first: retry(run), second: retry(run) });
      expect(first).toMatchObject({ outcome: "retried", epoch: 1, kept: 1, dropped: 1, turn: 3 });
      expect(second).toMatchObject({ outcome: "not_applicable", status: "queued" });
      expect(await epochOf(run)).toEqual({ epoch: 1, status: "parked", last_position: 1, records: 1 });
    });

    test("the same call is told the same, and begins one epoch", async () => {
      const run = await aFailedRun();
      const callId = randomUUID();
      const [first, second] = await stage.collide({
        first: restart(run, { callId }),
        second: restart(run, { callId }),
      });
      expect(first).toMatchObject({ outcome: "restarted", epoch: 1, kept: 0, dropped: 2 });
      expect(second).toMatchObject({ outcome: "restarted", epoch: 1 });
      expect(await epochOf(run)).toMatchObject({ epoch: 1 });
    });

    test("a cancel after a retry ends the run anew, and one before it is refused, since the run is over: the retry goes on", async () => {
      const run = await aFailedRun();
      const cancel = (session: Session) => run.operate(session, "cancel");
      const [, cancelled] = await stage.collide({ first: retry(run), second: cancel });
      expect(cancelled).toMatchObject({ outcome: "cancelling" });
      const other = await aFailedRun();
      const [refused, retried] = await stage.collide({
        first: (session) => other.operate(session, "cancel"),
        second: retry(other),
      });
      expect(refused).toMatchObject({ outcome: "not_applicable", status: "failed" });
      expect(retried).toMatchObject({ outcome: "retried" });
    });

    test("two forks to one id make one run", async () => {
      const run = await aFailedRun();
      const newRunId = randomUUID();
      const fork = (session: Session) => session.call("fork_run", call(run, { newRunId }));
      const [first, second] = await stage.collide({ first: fork, second: fork });
      expect(first).toMatchObject({ outcome: "forked", runId: newRunId, turn: 1 });
      expect(second).toEqual({ outcome: "forked", runId: newRunId, turn: 1 });
    });
  });

  describe("and a claim", () => {
    test("of the turn before it finds another turn", async () => {
      const run = await aFailedRun();
      const [, told] = await stage.collide({ first: retry(run), second: claim(run, 2, "second") });
      expect(told).toMatchObject({ outcome: "stale", turn: 3 });
    });

    test("of a blocked run, that came first, keeps the restart away while its lease stands", async () => {
      const run = await aRunAtWork(stage);
      await run.finish(stage.onlooker, { token: "first", next: "blocked", value: "0no" });
      const [claimed, told] = await stage.collide({ first: claim(run, 2, "second"), second: restart(run) });
      expect(claimed).toMatchObject({ outcome: "claimed" });
      expect(told).toMatchObject({ outcome: "not_applicable", status: "running" });
    });

    test("of a paused run whose step is at work is not taken its lease", async () => {
      const run = await aRunAtWork(stage);
      await run.operate(stage.onlooker, "pause");
      expect(await restart(run)(stage.onlooker)).toMatchObject({ outcome: "at_work" });
      expect(
        await run.finish(stage.onlooker, { token: "first", records: [aRecord("step", "a")], next: "ready" }),
      ).toMatchObject({
        outcome: "finished",
      });
      expect(await restart(run)(stage.onlooker)).toMatchObject({ outcome: "restarted", kept: 0, dropped: 1 });
    });
  });

  describe("and a finish", () => {
    test("with a lease that has ended records nothing in it", async () => {
      const run = await aRunAtWork(stage);
      await run.operate(stage.onlooker, "pause");
      await stage.clock.set((await stage.onlooker.call("get_run", { runId: run.id }).then(leaseOf)) + 1_000);
      const late = (session: Session) =>
        run.finish(session, { token: "first", records: [aRecord("step", "a")], next: "ready" });
      const [, told] = await stage.collide({ first: restart(run), second: late });
      expect(told).toEqual({ outcome: "superseded" });
      expect(await epochOf(run)).toEqual({ epoch: 1, status: "parked", last_position: 0, records: 0 });
    });

    test("that continues as new and comes twice continues once", async () => {
      const run = await aRunAtWork(stage);
      const finish = (session: Session) =>
        run.finish(session, { token: "first", records: [aRecord("step", "a")], next: "ready", continues: "0{}" });
      const [first, again] = await stage.collide({ first: finish, second: finish });
      expect(again).toEqual(first);
      expect(await epochOf(run)).toMatchObject({ epoch: 1, last_position: 0 });
    });

    test("that continues as new after a cancel keeps its records, and does not continue", async () => {
      const run = await aRunAtWork(stage);
      const cancel = (session: Session) => run.operate(session, "cancel");
      const finish = (session: Session) =>
        run.finish(session, { token: "first", records: [aRecord("step", "a")], next: "ready", continues: "0{}" });
      await stage.collide({ first: cancel, second: finish });
      expect(await epochOf(run)).toMatchObject({ epoch: 0, last_position: 1 });
    });

    test("of a branch that was at work when its run continued is told so", async () => {
      const demand = { kind: "branch", path: "b", occurrence: 1, demandedAfter: 0, ordinal: 1 } as const;
      const run = await aParkedRun(stage, [demand, aWaitFor("go")]);
      await run.claimBranch(stage.onlooker, "b", { token: "branch" });
      await run.signal(stage.onlooker, "go");
      await run.claim(stage.onlooker, { turn: 2, token: "second" });
      await run.finish(stage.onlooker, { token: "second", next: "ready", continues: "0{}" });
      expect(await run.finishBranch(stage.onlooker, "b", { token: "branch" })).toMatchObject({ outcome: "superseded" });
    });
  });

  describe("and mail", () => {
    test("a signal that comes at the same time is kept for the epoch", async () => {
      const run = await aFailedRun();
      const signal = (session: Session) => run.signal(session, "go");
      const [, sent] = await stage.collide({ first: retry(run), second: signal });
      expect(sent).toMatchObject({ outcome: "sent" });
      const other = await aFailedRun();
      const [over] = await stage.collide({ first: (session) => other.signal(session, "go"), second: retry(other) });
      expect(over).toMatchObject({ outcome: "over" });
    });
  });

  test("a run that is deleted at the same time is not retried, and one that is retried is not deleted", async () => {
    const run = await aFailedRun();
    const [, told] = await stage.collide({
      first: (session) => run.operate(session, "delete"),
      second: retry(run),
    });
    expect(told).toEqual({ outcome: "unknown" });
    const other = await aFailedRun();
    const [, kept] = await stage.collide({
      first: retry(other),
      second: (session) => other.operate(session, "delete"),
    });
    expect(kept).toMatchObject({ outcome: "not_applicable", status: "queued" });
  });

  test("a run that nobody has started is unknown", async () => {
    const run = await aRun(stage);
    const unknown = { ...run, id: randomUUID() } as Run;
    expect(await restart(unknown)(stage.onlooker)).toEqual({ outcome: "unknown" });
  });
});

function leaseOf(view: object): number {
  return "leasedUntil" in view ? Number(view.leasedUntil) : Number.NaN;
}
