/** What the scheduler is shown, and what it moves: what may be claimed, of its own namespace, and nothing else. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { rowsOn } from "./rows.ts";
import {
  aFanOut,
  aMap,
  aParkedRun,
  aRecord,
  aRun,
  aRunAtWork,
  at,
  aWaitFor,
  branches,
  minute,
  noon,
  type Run,
  soon,
  terms,
} from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the scheduler",
  (database) => {
    const stage = stageOn(database, { breaks: ["due may be early, never late (by more than two minutes)"] });
    const elsewhere = { namespace: "elsewhere" };
    const later = noon + 60 * minute;
    const list = async (more: object = {}) => {
      const call = { ...terms, limit: 10, withinMs: 0, isNew: true, ...more };
      return (await stage.onlooker.call("list_due", call)).runs.map(({ runId }) => runId);
    };
    const move = (run: Run, more: object = {}, terms: object = {}) => {
      const one = { runId: run.id, seenDueAt: soon, dueAt: later, isDispatched: true, branches: [], ...more };
      return stage.onlooker.call("move_due", { moves: [one], ...terms });
    };
    const { set } = rowsOn(stage);
    const block = (run: Run) => set(run, "blocked = 'by other code', due_at = null");
    const pause = (run: Run) => set(run, "paused_at = layover.now(), due_at = null");
    const aRace = async () => {
      const run = await aFanOut(stage, ["race/a", "race/b"]);
      await run.finishBranch(stage.onlooker, "race/a", { token: "race/a" });
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      const released = [{ prefix: "race/", position: 1 }];
      await run.finish(stage.onlooker, { token: "second", position: 1, released, armed: [later] });
      return run;
    };

    describe("of a new deployment is shown", () => {
      test("what is ready, and what is blocked", async () => {
        const ready = await aRun(stage);
        const blocked = await aRun(stage);
        await block(blocked);
        expect((await list()).toSorted()).toEqual([ready.id, blocked.id].toSorted());
      });

      test("what is blocked as ready, whatever it waits for: new code may know better", async () => {
        const run = await aParkedRun(stage, [aWaitFor("address", { until: noon + 3 * minute })]);
        await block(run);
        const { runs } = await stage.onlooker.call("list_due", { ...terms, limit: 10, isNew: true });
        expect(runs).toMatchObject([{ runId: run.id, isReady: true, isUnfinished: false }]);
      });

      test("nothing of another namespace", async () => {
        await aRun(stage);
        await block(await aRun(stage));
        expect(await list(elsewhere)).toEqual([]);
      });

      test("nothing that is paused, blocked or not", async () => {
        const blocked = await aRun(stage);
        await block(blocked);
        await pause(blocked);
        await pause(await aRun(stage));
        expect(await list()).toEqual([]);
      });

      test("nothing that waits, is at work, or queues behind that", async () => {
        await aParkedRun(stage, [aWaitFor("address", { until: noon + 3 * minute })]);
        await aFanOut(stage, ["a"]);
        await aMap(stage, ["a", "b"], { slots: 1 });
        expect(await list()).toEqual([]);
      });

      test("a branch that is ready, but none that lost its race and failed", async () => {
        const ready = await aParkedRun(stage, branches(["a"]));
        const race = await aRace();
        const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: 0 };
        await race.finishBranch(stage.onlooker, "race/b", { token: "race/b", attempt, armed: [later] });
        expect(await list()).toEqual([ready.id]);
      });
    });

    describe("moves", () => {
      test("no run of another namespace", async () => {
        const run = await aRun(stage);
        expect(await move(run, {}, elsewhere)).toMatchObject({ moved: 0, left: 0 });
        expect(await run.state()).toMatchObject({ dueAt: soon, dispatches: 0 });
      });

      test.each([
        [
          "is over",
          (run: Run) => set(run, "status = 'completed', ended_at = layover.now(), ready_at = null, due_at = null"),
        ],
        ["is paused", pause],
      ])("no run that was blocked when it looked and %s by now", async (_, stop) => {
        const run = await aRun(stage);
        await stop(run);
        expect(await move(run, { seenDueAt: null })).toMatchObject({ moved: 0, left: 0 });
        expect(await run.state()).toMatchObject({ dueAt: null, dispatches: 0 });
      });

      test.each([
        ["ready", aRun],
        ["waiting", () => aParkedRun(stage, [aWaitFor("address", { until: noon + 3 * minute })])],
      ])("what is blocked to the next try, and counts that it was dispatched: %s", async (_, make) => {
        const run = await make(stage);
        await block(run);
        expect(await move(run, { seenDueAt: null })).toMatchObject({ moved: 1, left: 0 });
        expect(await run.state()).toMatchObject({ dueAt: later, dispatches: 1 });
      });

      test("a run beyond the lease of what lost its race", async () => {
        const run = await aRace();
        const state = await run.state();
        const seen = { seenDueAt: state["dueAt"], isDispatched: false };
        expect(await move(run, seen)).toMatchObject({ moved: 1, left: 0 });
        expect(await run.state()).toMatchObject({ dueAt: later });
      });

      test("no run beyond the lease of a branch that was claimed since it looked", async () => {
        const run = await aParkedRun(stage, branches(["a"]));
        await run.claimBranch(stage.onlooker, "a", { token: "a" });
        const seen = { isDispatched: false, branches: [at("a")] };
        expect(await move(run, seen)).toMatchObject({ moved: 0, left: 1 });
        expect(await move(run, seen, { soonAt: soon + minute })).toMatchObject({ moved: 1, left: 0 });
        expect(await run.state()).toMatchObject({ dueAt: soon + minute });
      });
    });

    describe("counts the dispatches of a run", () => {
      const finish = (runs: readonly Run[], claims: boolean) => {
        const claim = { token: "second", turn: 2, have: { epoch: 0, position: 1 } };
        const records = [aRecord("step", "charge")];
        const turns = runs.map((run) =>
          run.toFinish({ token: "first", next: "ready", records, ...(claims && { claim }) }),
        );
        return stage.onlooker.call("finish_turns", { ...terms, turns });
      };
      const aLateRun = async () => {
        const run = await aRunAtWork(stage);
        await set(run, "leased_until = layover.now()");
        await move(run);
        expect(await run.state()).toMatchObject({ dispatches: 1 });
        return run;
      };

      test.each([1, 2])("until its next turn is claimed along with a late finish (%i)", async (count) => {
        const runs = await Promise.all(Array.from({ length: count }, aLateRun));
        await finish(runs, true);
        for (const run of runs) expect(await run.state()).toMatchObject({ status: "running", dispatches: 0 });
      });

      test.each([1, 2])("until it is claimed (%i)", async (count) => {
        const runs = await Promise.all(Array.from({ length: count }, () => aRun(stage)));
        for (const run of runs) await move(run);
        const turns = runs.map((run) => run.toClaim({ token: "first" }));
        await stage.onlooker.call("claim_turns", { ...terms, turns });
        for (const run of runs) expect(await run.state()).toMatchObject({ status: "running", dispatches: 0 });
      });

      test.each([1, 2])("on, where a late finish claims nothing (%i)", async (count) => {
        const runs = await Promise.all(Array.from({ length: count }, aLateRun));
        await finish(runs, false);
        for (const run of runs) expect(await run.state()).toMatchObject({ status: "parked", turn: 2, dispatches: 1 });
      });
    });

    test("looks at everything again once somebody has adopted the database", async () => {
      const deployed = { ...terms, deployment: "green" };
      const isNew = async () => (await stage.onlooker.call("list_due", { ...deployed, limit: 10 })).isNew;
      const note = (more: object) =>
        stage.onlooker.query("select layover.note_deployment($1)", [
          JSON.stringify({ ...deployed, namespace: "default", ...more }),
        ]);
      await aRun(stage);
      expect(await isNew()).toBe(true);
      await note({});
      expect(await isNew()).toBe(false);
      expect(await stage.onlooker.call("list_due", { ...terms, limit: 10 })).toMatchObject({ isNew: false });
      await stage.onlooker.call("adopt_environment", terms);
      expect(await isNew()).toBe(true);
      await note({ triedThrough: "00000000-0000-7000-8000-000000000001" });
      await stage.onlooker.call("adopt_environment", terms);
      await stage.onlooker.query("update layover.environment set deployment = 'green'");
      expect(await isNew()).toBe(false);
    });

    test("notes a deployment in its own namespace", async () => {
      const note = { environment: "test", endpoint: "here", deployment: "green" };
      for (const namespace of ["default", "elsewhere"])
        await stage.onlooker.call("adopt_environment", { ...terms, namespace });
      await stage.onlooker.query("select layover.note_deployment($1)", [JSON.stringify({ ...note, ...elsewhere })]);
      const rows = await stage.look("select namespace from layover.environment where deployment is not null");
      expect(rows).toEqual([elsewhere]);
    });
  },
  { perTest: true },
);
