/** Where the scheduler moves a run's due instant: never beyond what has to be looked at before. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { retry } from "./branching.ts";
import {
  aDemand,
  aFanOut,
  aParkedRun,
  aRun,
  aRunAtWork,
  at,
  aWaitFor,
  branches,
  minute,
  noon,
  type Run,
  soon,
} from "./runs.ts";
import { stageOn } from "./stage.ts";

const hour = 60 * minute;

describeSomePostgres(
  "the scheduler moves a run",
  (database) => {
    const stage = stageOn(database, { breaks: ["due may be early, never late (by more than two minutes)"] });
    const move = (run: Run, more: object = {}, call: object = {}) => {
      const one = { runId: run.id, seenDueAt: soon, dueAt: noon + hour, isDispatched: true, branches: [], ...more };
      return stage.onlooker.call("move_due", { moves: [one], ...call });
    };
    const setBranch = (run: Run, path: string, assignments: string) =>
      stage.onlooker.query(`update layover.pending set ${assignments} where run_id = $1 and path = $2`, [run.id, path]);
    const moved = { moved: 1, left: 0 };
    const left = { moved: 0, left: 1 };

    test("that is ready only where it is dispatched", async () => {
      const run = await aRun(stage);
      expect(await move(run, { isDispatched: false })).toMatchObject(left);
      expect(await move(run)).toMatchObject(moved);
      expect(await run.state()).toMatchObject({ dueAt: noon + hour, dispatches: 1 });
    });

    test("only once its lock is free, and tells whoever does not want to wait which one is locked", async () => {
      const [run, other] = [await aRun(stage), await aRun(stage)];
      const sender = await stage.session("sender");
      await sender.begin();
      await run.signal(sender, "address");
      const moves = [run, other].map(({ id }) => ({
        ...{ runId: id, seenDueAt: soon, dueAt: noon + hour, isDispatched: true, branches: [] },
      }));
      const answer = await stage.onlooker.call("move_due", { moves, skipsLocked: true });
      expect(answer).toMatchObject({ moved: 1, left: 0, locked: [run.id] });
      const scheduler = await stage.session("scheduler");
      const moved = scheduler.call("move_due", { moves: moves.slice(0, 1) });
      await scheduler.untilBlocked(sender);
      await sender.commit();
      expect(await moved).toMatchObject({ moved: 1, left: 0, locked: [] });
    });

    test("to nowhere, where there is nothing to look for, and nowhere else", async () => {
      const waiting = await aParkedRun(stage, [aWaitFor("address")]);
      await stage.onlooker.query("update layover.run_state set due_at = $1", [new Date(soon)]);
      expect(await move(waiting, { dueAt: null, isDispatched: false })).toMatchObject(moved);
      expect(await waiting.state()).toMatchObject({ dueAt: null, dispatches: 0 });
      const sleeping = await aParkedRun(stage, [aWaitFor("address", { until: noon + 3 * minute })]);
      expect(await move(sleeping, { dueAt: null, isDispatched: false })).toMatchObject(left);
      expect(await move(sleeping, { dueAt: null, isDispatched: false }, { soonAt: soon + minute })).toMatchObject(
        moved,
      );
      expect(await sleeping.state()).toMatchObject({ dueAt: soon + minute });
    });

    test("that is not ready any more, without counting what was dispatched in vain", async () => {
      const run = await aParkedRun(stage, [aWaitFor("address")]);
      await stage.onlooker.query("update layover.run_state set due_at = $1, dispatches = 2", [new Date(soon)]);
      expect(await move(run)).toMatchObject(moved);
      expect(await run.state()).toMatchObject({ dueAt: noon + hour, dispatches: 2 });
    });

    test("that was moved to another version as not dispatched: what the scheduler dispatches is of the turn before", async () => {
      const run = await aRun(stage);
      await stage.clock.set(soon);
      const upgrade = { from: 1, to: 2, epoch: 0, turn: 1, position: 0, lastMail: 0, callId: randomUUID() };
      await stage.onlooker.call("upgrade_run", { runId: run.id, ...upgrade });
      expect(await run.state()).toMatchObject({ dueAt: soon, turn: 2 });
      expect(await move(run, { turn: 1 })).toMatchObject(left);
      expect(await move(run, { turn: 1 }, { soonAt: soon + minute })).toMatchObject(moved);
      expect(await run.state()).toMatchObject({ dueAt: soon + minute, dispatches: 0 });
      expect(await move(run, { turn: 2, seenDueAt: soon + minute })).toMatchObject(moved);
      expect(await run.state()).toMatchObject({ dueAt: noon + hour, dispatches: 1 });
    });

    test("whose branch waits for its next attempt since, as if the branch were not dispatched: what the scheduler dispatches is of the turn before", async () => {
      const run = await aFanOut(stage, ["a"]);
      await aFanOut(stage, ["a"]); // another run, whose branch is in its turn 1
      await retry(run, "a", 300)(stage.onlooker);
      await stage.clock.set(noon + 300);
      const dispatch = (turn: number) => ({ isDispatched: false, branches: [{ ...at("a"), turn }] });
      expect(await move(run, dispatch(1))).toMatchObject(left);
      expect(await move(run, dispatch(1), { soonAt: soon + minute })).toMatchObject(moved);
      expect([await run.state(), await run.pending()]).toMatchObject([
        { dueAt: soon + minute },
        { a: { dispatches: 0 } },
      ]);
      expect(await move(run, { ...dispatch(2), seenDueAt: soon + minute })).toMatchObject(moved);
      expect([await run.state(), await run.pending()]).toMatchObject([
        { dueAt: noon + hour },
        { a: { dispatches: 1 } },
      ]);
    });

    test("and counts no dispatch of another run's branch at the same place", async () => {
      const [run, other] = [await aParkedRun(stage, branches(["a"])), await aParkedRun(stage, branches(["a"]))];
      expect(await move(run, { isDispatched: false, branches: [at("a")] })).toMatchObject(moved);
      expect(await run.pending()).toMatchObject({ a: { dispatches: 1 } });
      expect(await other.pending()).toMatchObject({ a: { dispatches: 0 } });
    });

    describe("no further than", () => {
      const waiting = { isDispatched: false, branches: [] };

      test("its lease, where it was claimed since", async () => {
        const run = await aRunAtWork(stage);
        expect(await move(run, { dueAt: noon + minute + 1 })).toMatchObject(left);
        expect(await move(run, { dueAt: noon + minute })).toMatchObject(moved);
        expect(await run.state()).toMatchObject({ dispatches: 0 });
      });

      test("the first of its branches is at work", async () => {
        const run = await aFanOut(stage, ["a", "b", "c"]);
        await setBranch(run, "b", "leased_until = layover.now() + interval '3 minutes'");
        await setBranch(run, "c", "leased_until = layover.now() + interval '2 hours'");
        expect(await move(run, { ...waiting, dueAt: noon + minute + 1 })).toMatchObject(left);
        expect(await move(run, { ...waiting, dueAt: noon + minute })).toMatchObject(moved);
      });

      test("a branch waits for its next attempt", async () => {
        const run = await aParkedRun(stage, branches(["a", "b"]));
        await setBranch(run, "a", "ready_at = layover.now() + interval '3 minutes'");
        const dispatched = { isDispatched: false, branches: [at("b")] };
        expect(await move(run, dispatched)).toMatchObject(left);
        expect(await move(run, { ...dispatched, dueAt: noon + 3 * minute })).toMatchObject(moved);
        expect(await run.pending()).toMatchObject({ a: { dispatches: 0 }, b: { dispatches: 1 } });
      });

      test("a branch that was to be dispatched waits for its next attempt", async () => {
        const run = await aParkedRun(stage, branches(["a"]));
        await setBranch(run, "a", "ready_at = layover.now() + interval '3 minutes'");
        const dispatched = { isDispatched: false, branches: [at("a")] };
        expect(await move(run, dispatched)).toMatchObject(left);
        await setBranch(run, "a", "ready_at = layover.now()");
        expect(await move(run, dispatched)).toMatchObject(moved);
        expect(await run.pending()).toMatchObject({ a: { dispatches: 1 } });
      });

      test("a branch is ready that is not dispatched", async () => {
        const again = { ...at("b"), occurrence: 2 };
        const run = await aParkedRun(stage, [
          ...branches(["a", "b"]),
          aDemand("branch", "b", { ...again, ordinal: 3 }),
        ]);
        const dispatch = (...places: object[]) => move(run, { isDispatched: false, branches: places });
        expect(await dispatch(at("b"), again)).toMatchObject(left);
        expect(await dispatch(at("a"), at("b"))).toMatchObject(left);
        expect(await dispatch(at("a"), at("b"), again)).toMatchObject(moved);
        expect(await run.pending()).toMatchObject({ a: { dispatches: 1 }, b: { dispatches: 1 } });
      });
    });

    test("and counts the dispatches of a new deployment from the beginning", async () => {
      const run = await aParkedRun(stage, branches(["a"]));
      await stage.onlooker.query("update layover.run_state set dispatches = 7, ready_at = layover.now()");
      await setBranch(run, "a", "dispatches = 9");
      expect(await move(run, { branches: [at("a")] }, { isNew: true })).toMatchObject(moved);
      expect(await run.state()).toMatchObject({ dispatches: 1 });
      expect(await run.pending()).toMatchObject({ a: { dispatches: 1 } });
      expect(await move(run, { seenDueAt: noon + hour, branches: [at("a")] }, { isNew: false })).toMatchObject(moved);
      expect([await run.state(), (await run.pending())["a"]]).toMatchObject([{ dispatches: 2 }, { dispatches: 2 }]);
    });
  },
  { perTest: true },
);
