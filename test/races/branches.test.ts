/** Branches that are finished at the same moment, or twice: each is recorded once, and their run is made ready once. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { record, retry } from "./branching.ts";
import { aFanOut, aMap, minute, type Run, second } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a branch",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["what is not over, paused or blocked and needs to be looked at has a due instant"],
    });
    const fail = (run: Run, path: string) => (session: Session) =>
      run.finishBranch(session, path, { token: path, isFailure: true });
    const ref = (path: string, turn = 1) => ({ path, occurrence: 1, turn });

    describe("that is finished together with the last other one of its fan-out", () => {
      test.each([
        ["a", "b"],
        ["b", "a"],
      ])("is recorded, and only the first one makes the run ready: %s before %s", async (early, late) => {
        const run = await aFanOut(stage, ["a", "b"]);
        const [one, other] = await stage.collide({ first: record(run, early), second: record(run, late) });
        expect(one).toMatchObject({ outcome: "finished", continues: 2 });
        expect(other).toMatchObject({ outcome: "finished", continues: null });
        expect(await run.history()).toEqual([early, late]);
        expect(await run.state()).toMatchObject({ status: "parked", isReady: true, lastPosition: 2 });
      });

      test("makes the run ready if the other one rolls back", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        const both = { first: record(run, "a"), second: record(run, "b"), ends: "rollback" } as const;
        const [, other] = await stage.collide(both);
        expect(other).toMatchObject({ outcome: "finished", continues: 2 });
        expect(await run.history()).toEqual(["b"]);
      });
    });

    describe("that is finished together with the last other one of its map", () => {
      test.each([
        ["a", "b"],
        ["b", "a"],
      ])("is recorded, and only the last one makes the run ready: %s before %s", async (early, late) => {
        const run = await aMap(stage, ["a", "b"]);
        const [one, other] = await stage.collide({ first: record(run, early), second: record(run, late) });
        expect(one).toMatchObject({ outcome: "finished", continues: null });
        expect(other).toMatchObject({ outcome: "finished", continues: 2 });
        expect(await run.history()).toEqual([early, late]);
        expect(await run.state()).toMatchObject({ isReady: true, lastPosition: 2 });
      });

      test("leaves it to the other one if that one rolls back", async () => {
        const run = await aMap(stage, ["a", "b"]);
        const both = { first: record(run, "a"), second: record(run, "b"), ends: "rollback" } as const;
        const [, other] = await stage.collide(both);
        expect(other).toMatchObject({ continues: null });
        expect(await run.state()).toMatchObject({ isReady: false });
        expect(await record(run, "a")(stage.onlooker)).toMatchObject({ continues: 2 });
      });

      test("makes the run ready though the other one is only to be tried again, much later", async () => {
        const run = await aMap(stage, ["a", "b"]);
        const both = { first: retry(run, "a", 60 * minute), second: record(run, "b") };
        const [later, last] = await stage.collide(both);
        expect(later).toMatchObject({ continues: null });
        expect(last).toMatchObject({ continues: 2 });
      });

      test("leaves it to the other one that is to be tried again soon", async () => {
        const run = await aMap(stage, ["a", "b"]);
        const [soon, last] = await stage.collide({ first: retry(run, "a", second), second: record(run, "b") });
        expect([soon, last]).toMatchObject([{ continues: null }, { continues: null }]);
        await stage.clock.advance(second);
        await run.claimBranch(stage.onlooker, "a", { token: "again", turn: 2 });
        const again = { token: "again", turn: 2 };
        expect(await run.finishBranch(stage.onlooker, "a", again)).toMatchObject({ continues: 2 });
      });

      test("makes the run ready at the first failure, once", async () => {
        const run = await aMap(stage, ["a", "b", "c"], { failsFast: true });
        const [failed, other] = await stage.collide({ first: fail(run, "a"), second: fail(run, "b") });
        expect(failed).toMatchObject({ continues: 2 });
        expect(other).toMatchObject({ continues: null });
        expect(await record(run, "c")(stage.onlooker)).toMatchObject({ continues: null });
      });
    });

    describe("of a map with slots", () => {
      test("hands each slot on once when two are finished together", async () => {
        const run = await aMap(stage, ["a", "b", "c", "d"], { slots: 2 });
        const [one, other] = await stage.collide({ first: record(run, "a"), second: record(run, "b") });
        expect(one).toMatchObject({ continues: null, branches: [ref("c")] });
        expect(other).toMatchObject({ continues: null, branches: [ref("d")] });
        expect(await stage.look("select counted, slots from layover.map")).toEqual([{ counted: 2, slots: 0 }]);
      });

      test("hands on one slot when one is left in the queue", async () => {
        const run = await aMap(stage, ["a", "b", "c"], { slots: 2 });
        const [one, other] = await stage.collide({ first: record(run, "a"), second: record(run, "b") });
        expect(one).toMatchObject({ branches: [ref("c")] });
        expect(other).toMatchObject({ branches: null });
        expect(await stage.look("select counted, slots from layover.map")).toEqual([{ counted: 1, slots: 1 }]);
      });

      test("leaves its slot to the other one's next if it rolls back", async () => {
        const run = await aMap(stage, ["a", "b", "c", "d"], { slots: 2 });
        const both = { first: record(run, "a"), second: record(run, "b"), ends: "rollback" } as const;
        const [, other] = await stage.collide(both);
        expect(other).toMatchObject({ branches: [ref("c")] });
        expect(await record(run, "a")(stage.onlooker)).toMatchObject({ branches: [ref("d")] });
      });
    });

    describe("whose finish is sent twice at once", () => {
      test.each(["commit", "rollback"] as const)(
        "is recorded once, and both are answered the same (%s)",
        async (ends) => {
          const run = await aMap(stage, ["a", "b"], { slots: 1 });
          const [one, other] = await stage.collide({ first: record(run, "a"), second: record(run, "a"), ends });
          expect(one).toMatchObject({ outcome: "finished", branches: [ref("b")] });
          expect(other).toEqual(one);
          expect(await run.history()).toEqual(["a"]);
          expect(await stage.look("select counted, slots from layover.map")).toEqual([{ counted: 1, slots: 0 }]);
        },
      );

      test("is tried again once", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        const [one, other] = await stage.collide({ first: retry(run, "a", second), second: retry(run, "a", second) });
        expect(one).toMatchObject({ outcome: "finished", turn: 2 });
        expect(other).toEqual(one);
        expect(await run.pending()).toMatchObject({ a: { turn: 2 } });
      });
    });
  },
  { perTest: true },
);
