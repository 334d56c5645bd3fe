import { describe, expect, test } from "vitest";
import type { DueRun, Move } from "../../src/postgres/wire-scheduler.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aDemand,
  aParkedRun,
  aRun,
  aRunAtWork,
  at,
  aWaitFor,
  branches,
  minute,
  noon,
  only,
  type Run,
  soon,
  terms,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const hour = 60 * minute;
/** The motion minute of a tick at the minute `soon`, and of whatever moves a run then. */
const next = soon + minute;
const inTurn1 = (path: string) => ({ ...at(path), turn: 1 });

describeSomePostgres(
  "the tick",
  (database) => {
    const stage = stageOn(database, { breaks: ["due may be early, never late (by more than two minutes)"] });
    const list = async (session: Session = stage.onlooker): Promise<readonly DueRun[]> =>
      (await session.call("list_due", { versions: terms.versions, limit: 100 })).runs;
    const move = (run: Run, change: Partial<Move>) => async (session: Session) => {
      const moves = [{ runId: run.id, seenDueAt: soon, dueAt: next, isDispatched: false, branches: [], ...change }];
      return (await session.call("move_due", { moves, soonAt: next })).moved;
    };

    describe("against another tick", () => {
      const dispatch = (run: Run, dueAt: number) => move(run, { isDispatched: true, dueAt, branches: [inTurn1("a")] });
      const aDueRun = async () => {
        const run = await aParkedRun(stage, branches(["a"]));
        await stage.onlooker.query("update layover.run_state set ready_at = layover.now()");
        await stage.clock.set(soon);
        return run;
      };

      test("moves a run once, and counts one dispatch of it and of its branch", async () => {
        const run = await aDueRun();
        const [seen, alsoSeen] = [only(await list()), only(await list())];
        expect(alsoSeen).toEqual(seen);
        const both = { first: dispatch(run, next), second: dispatch(run, next + minute) };
        expect(await stage.collide(both)).toEqual([1, 0]);
        expect(await run.state()).toMatchObject({ dueAt: next, dispatches: 1 });
        expect(await run.pending()).toMatchObject({ a: { dispatches: 1 } });
      });

      test("moves the run if the other one rolls back", async () => {
        const run = await aDueRun();
        const both = { first: dispatch(run, next), second: dispatch(run, next + minute), ends: "rollback" } as const;
        expect(await stage.collide(both)).toEqual([1, 1]);
        expect(await run.state()).toMatchObject({ dueAt: next + minute, dispatches: 1 });
      });
    });

    describe("against the finish of a turn that was under way when it looked", () => {
      const aRunUnderWay = async () => {
        const run = await aRunAtWork(stage);
        await run.renew(stage.onlooker, "first");
        await stage.clock.set(soon);
        return run;
      };
      const finish = (run: Run) => (session: Session) =>
        run.finish(session, { token: "first", next: "ready", armed: [next] });
      const later = (run: Run) => move(run, { isDispatched: true, dueAt: soon + 6 * hour });

      test("leaves the run alone when it waits for the finish's lock", async () => {
        const run = await aRunUnderWay();
        const [, moved] = await stage.collide({ first: finish(run), second: later(run) });
        expect(moved).toBe(0);
        expect(await run.state()).toMatchObject({ isReady: true, dueAt: next, dispatches: 0 });
      });

      test("moves the run when the finish rolls back", async () => {
        const run = await aRunUnderWay();
        const [, moved] = await stage.collide({ first: finish(run), second: later(run), ends: "rollback" });
        expect(moved).toBe(1);
      });

      test("is overruled when the finish waits for its lock", async () => {
        const run = await aRunUnderWay();
        const [moved, finished] = await stage.collide({ first: later(run), second: finish(run) });
        expect(moved).toBe(1);
        expect(finished).toMatchObject({ outcome: "finished" });
        expect(await run.state()).toMatchObject({ isReady: true, dueAt: next });
      });
    });

    /** Each makes the run ready between the tick's look and its move; the dispatch that follows may be lost. */
    describe("against what makes a run ready that it saw waiting for an hour", () => {
      const aWaitingRun = async () => {
        const demands = [
          aDemand("sleep", "nap", { until: noon + hour }),
          aWaitFor("address"),
          aDemand("callback", "approval"),
        ];
        const run = await aParkedRun(stage, demands);
        await stage.clock.set(soon);
        expect(only(await list())).toMatchObject({ dueAt: soon, isReady: false, nextAt: noon + hour });
        return run;
      };
      const later = (run: Run) => move(run, { dueAt: noon + hour });
      type Waker = readonly [name: string, wake: (run: Run) => (session: Session) => Promise<unknown>];
      const wakers: readonly Waker[] = [
        ["a signal", (run) => (session) => run.signal(session, "address", { armed: [next] })],
        ["an answer", (run) => (session) => run.answer(session, "approval", { armed: [next] })],
      ];

      test.each(wakers)("looks again at the motion minute when it waits for the lock of %s", async (_, wake) => {
        const run = await aWaitingRun();
        await stage.collide({ first: wake(run), second: later(run) });
        const { isReady, dueAt } = await run.state();
        expect(isReady).toBe(true);
        expect(dueAt).toBeLessThanOrEqual(next);
      });

      test.each(wakers)("looks again at the motion minute when its lock is waited for by %s", async (_, wake) => {
        const run = await aWaitingRun();
        await stage.collide({ first: later(run), second: wake(run) });
        expect(await run.state()).toMatchObject({ isReady: true, dueAt: next });
      });

      test.each(wakers)("leaves the run, and says so, if it had not armed for %s that came before", async (_, wake) => {
        const run = await aWaitingRun();
        await wake(run)(stage.onlooker);
        const before = await run.state();
        const moves = [{ runId: run.id, seenDueAt: soon, dueAt: noon + hour, isDispatched: false, branches: [] }];
        expect(await stage.onlooker.call("move_due", { moves })).toMatchObject({ moved: 0, left: 1 });
        expect(await run.state()).toEqual(before);
        expect(await stage.onlooker.call("move_due", { moves, soonAt: next })).toMatchObject({ moved: 1, left: 0 });
        expect(await run.state()).toMatchObject({ isReady: true, dueAt: next });
      });

      test.each(wakers)("moves on for an hour when its lock was waited for in vain by %s", async (_, wake) => {
        const run = await aWaitingRun();
        await stage.collide({ first: wake(run), second: later(run), ends: "rollback" });
        expect(await run.state()).toMatchObject({ isReady: false, dueAt: noon + hour });
      });
    });

    /** What nobody carries out is looked at less and less often; but it was claimed after the tick's look. */
    describe("against the claim of what it has dispatched in vain for long", () => {
      const dispatchLong = (run: Run, paths: readonly string[]) =>
        move(run, { isDispatched: paths.length === 0, dueAt: soon + 6 * hour, branches: paths.map(inTurn1) });
      const aNeglectedRun = async () => {
        const run = await aRun(stage);
        await stage.onlooker.query("update layover.run_state set dispatches = 9");
        await stage.clock.set(soon);
        return run;
      };
      const aNeglectedBranch = async () => {
        const run = await aParkedRun(stage, branches(["a", "b"]));
        await stage.onlooker.query("update layover.pending set dispatches = 9");
        await stage.clock.set(soon);
        return run;
      };

      test("looks again at the end of the lease when it waits for the lock of a run's claim", async () => {
        const run = await aNeglectedRun();
        const claim = (session: Session) => run.claim(session, { token: "first" });
        await stage.collide({ first: claim, second: dispatchLong(run, []) });
        expect(await run.state()).toMatchObject({ status: "running", leasedUntil: next, dispatches: 0, dueAt: next });
      });

      test("lets six hours pass when that claim rolls back", async () => {
        const run = await aNeglectedRun();
        const claim = (session: Session) => run.claim(session, { token: "first" });
        await stage.collide({ first: claim, second: dispatchLong(run, []), ends: "rollback" });
        expect(await run.state()).toMatchObject({ status: "parked", dispatches: 10, dueAt: soon + 6 * hour });
      });

      test("looks again at the end of the lease when it waits for the lock of a branch's claim", async () => {
        const run = await aNeglectedBranch();
        const claim = async (session: Session) => {
          await session.query("select from layover.run_state for update");
          return await run.claimBranch(session, "a", { token: "a" });
        };
        await stage.collide({ first: claim, second: dispatchLong(run, ["a", "b"]) });
        expect(await run.state()).toMatchObject({ dueAt: next });
        expect(await run.pending()).toMatchObject({ a: { dispatches: 0, leasedUntil: next }, b: { dispatches: 10 } });
      });

      test("looks again at the motion minute when it waits for the lock of a branch's finish", async () => {
        const run = await aNeglectedBranch();
        await run.claimBranch(stage.onlooker, "a", { token: "a" });
        const finish = (session: Session) => run.finishBranch(session, "a", { token: "a", armed: [next] });
        await stage.collide({ first: finish, second: dispatchLong(run, ["a", "b"]) });
        const { isReady, dueAt } = await run.state();
        expect(isReady).toBe(true);
        expect(dueAt).toBeLessThanOrEqual(next);
      });
    });
  },
  { perTest: true },
);
