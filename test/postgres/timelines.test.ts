/** The timeline of a run: what happened to it, what failed, and what it waits for. Its own, and in order. */
import { describe, expect, test } from "vitest";
import { aDemand, aFanOut, aParkedRun, aRecord, aRunAtWork, aWaitFor, minute, noon, type Run } from "../races/runs.ts";
import { stageOn } from "../races/stage.ts";
import { describeEachPostgres } from "./database.ts";

describeEachPostgres(
  "a timeline",
  (database) => {
    const stage = stageOn(database, { breaks: ["positions are dense from 1, and last_position is the last"] });
    const historyOf = async (run: Run, more: object = {}) => {
      const history = await stage.onlooker.call("get_history", { runId: run.id, ...more });
      if ("outcome" in history) throw new Error(`There is no such run: ${run.id}`);
      return history;
    };
    const stepsOf = async (run: Run, more: object = {}) => (await historyOf(run, more)).records.map(({ path }) => path);
    const aRunWithSteps = async (...paths: string[]) => {
      const run = await aRunAtWork(stage);
      await run.finish(stage.onlooker, { token: "first", records: paths.map((path) => aRecord("step", path)) });
      return run;
    };
    const addAttempt = (run: Run, number: number, { epoch = 0, bytes = 10, path = "charge", beganAt = noon } = {}) =>
      stage.onlooker.query(
        `insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error)
          values ($1, $2, $3, 1, $4, layover.from_ms($5), layover.from_ms($5), repeat('x', $6))`,
        [run.id, epoch, path, number, beganAt, bytes],
      );

    describe("of records", () => {
      test("has those of the run alone, in their order", async () => {
        const run = await aRunWithSteps("a", "b", "c");
        await aRunWithSteps("of another run");
        expect(await stepsOf(run)).toEqual(["a", "b", "c"]);
      });

      test("has those of its present epoch", async () => {
        const run = await aRunWithSteps("a");
        await stage.onlooker.query(
          `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at)
            values ($1, 1, 2, 'step', 'of another epoch', 1, false, layover.now())`,
          [run.id],
        );
        expect(await stepsOf(run)).toEqual(["a"]);
      });

      test("has as many as asked for, behind the one that is known", async () => {
        const run = await aRunWithSteps("a", "b", "c", "d");
        expect(await stepsOf(run, { after: 1, limit: 2 })).toEqual(["b", "c"]);
        expect(await stepsOf(run, { after: 2 })).toEqual(["c", "d"]);
        expect(await stepsOf(run, { limit: 1 })).toEqual(["a"]);
        expect(await stepsOf(run, { after: 4 })).toEqual([]);
      });

      test("has ten thousand where nobody says how many", async () => {
        const run = await aRunWithSteps("a");
        await stage.onlooker.query(
          `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at)
            select $1, 0, n, 'step', 'more', n, false, layover.now() from generate_series(2, 10001) n`,
          [run.id],
        );
        expect(await stepsOf(run)).toHaveLength(10_000);
      });
    });

    describe("of attempts", () => {
      test("has those of the run's present epoch alone, and counts them", async () => {
        const run = await aRunWithSteps("a");
        const other = await aRunWithSteps("a");
        await addAttempt(run, 1);
        await addAttempt(run, 2, { epoch: 1 });
        await addAttempt(other, 3);
        expect(await historyOf(run)).toMatchObject({ attempts: [{ number: 1 }], attemptCount: 1 });
      });

      test("has them as they were made", async () => {
        const run = await aRunWithSteps("a");
        for (const number of [2, 1]) await addAttempt(run, number, { beganAt: noon + minute });
        await addAttempt(run, 1, { path: "b" });
        await addAttempt(run, 3, { path: "a" });
        const { attempts } = await historyOf(run);
        expect(attempts.map(({ path, number }) => `${path} ${number}`)).toEqual(["a 3", "b 1", "charge 1", "charge 2"]);
      });

      test.each([
        [2_000_000, [2, 3]],
        [2_000_001, [3]],
      ])("has the last ones, whose errors are no longer than 2 MB together: of %i", async (bytes, numbers) => {
        const run = await aRunWithSteps("a");
        await addAttempt(run, 1);
        await addAttempt(run, 2, { bytes: bytes - 10 });
        await addAttempt(run, 3);
        const { attempts, attemptCount } = await historyOf(run);
        expect([attempts.map(({ number }) => number), attemptCount]).toEqual([numbers, 3]);
      });
    });

    describe("of what is waited for", () => {
      test("has it for the run alone, in the order of demand", async () => {
        const waits = [aWaitFor("b"), aDemand("sleep", "nap", { ordinal: 2, until: noon + minute }), aWaitFor("a")];
        const run = await aParkedRun(
          stage,
          waits.map((wait, index) => ({ ...wait, ordinal: [1, 2, 2][index] ?? 0 })),
        );
        await aParkedRun(stage, [aWaitFor("of another run")]);
        expect((await historyOf(run)).pending.map(({ path }) => path)).toEqual(["b", "a", "nap"]);
      });

      test("leaves out what was recorded, though nobody has seen that yet", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        const { records, pending } = await historyOf(run);
        expect([records.map(({ path }) => path), pending.map(({ path }) => path)]).toEqual([["a"], ["b"]]);
      });
    });

    test("of a run that has done nothing is empty", async () => {
      const run = await aRunAtWork(stage);
      expect(await historyOf(run)).toMatchObject({ records: [], attempts: [], attemptCount: 0, pending: [] });
    });

    test("of no run is none", async () => {
      const { id } = await aRunAtWork(stage);
      const unknown = { outcome: "unknown" };
      expect(await stage.onlooker.call("get_history", { runId: id, namespace: "elsewhere" })).toEqual(unknown);
      expect(await stage.onlooker.call("get_run", { runId: id, namespace: "elsewhere" })).toEqual(unknown);
    });

    test.each(["get_history", "get_run"] as const)(
      "is found by the user's id, within its workflow: %s",
      async (name) => {
        const start = { workflow: "flow", version: 1, encodedInput: "0null", id: "o1" };
        const { runId } = await stage.onlooker.call("start_run", start);
        const other = await stage.onlooker.call("start_run", { ...start, workflow: "other" });
        expect(await stage.onlooker.call(name, { workflow: "flow", id: "o1" })).toMatchObject({ runId });
        expect(await stage.onlooker.call(name, { workflow: "other", id: "o1" })).toMatchObject({ runId: other.runId });
        expect(await stage.onlooker.call(name, { workflow: "other", runId })).toEqual({ outcome: "unknown" });
      },
    );
  },
  { perTest: true },
);
