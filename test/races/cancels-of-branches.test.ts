/** A cancel, and branches that are claimed or come to an end at the same time: each in both orders. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { locksByPath } from "./lock-order.ts";
import { aFanOut, aMap, aParkedRun, at, aWaitFor, branches, minute, noon, type Run, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a cancel",
  (database) => {
    const stage = stageOn(database);
    const cancelBy = (run: Run) => (session: Session) => run.operate(session, "cancel");
    const cancel = (run: Run) => cancelBy(run)(stage.onlooker);
    const callOf =
      (name: "claim_turns" | "finish_turns", ...turns: object[]) =>
      async (session: Session) =>
        (await session.call(name, { ...terms, turns })).turns;
    const claim = (run: Run, turn: number) => run.claim(stage.onlooker, { turn, token: `turn ${turn}` });
    const busy = (run: Run) => ({ outcome: "cancelling", runId: run.id });
    const free = (run: Run, turn: number) => ({ ...busy(run), turn });
    const written = { outcome: "claimed", records: [expect.arrayContaining(["closing"])] };

    describe("and the claim of a branch", () => {
      const aRunWithBranches = () => aParkedRun(stage, branches(["a", "b"]));
      const claims = (run: Run, paths: readonly string[]) =>
        callOf("claim_turns", ...paths.map((path) => ({ ...run.toClaim({ token: path }), ...at(path) })));

      test.each([
        ["alone", ["b"]],
        ["in a set", ["a", "b"]],
      ])("that waits for it: the claim is superseded, %s", async (_, paths) => {
        const run = await aRunWithBranches();
        const [told, answers] = await stage.collide({ first: cancelBy(run), second: claims(run, paths) });
        expect(told).toEqual(free(run, 2));
        expect(answers).toEqual(paths.map(() => ({ outcome: "superseded" })));
        expect(await claim(run, 2)).toMatchObject({ ...written, position: 1, pending: null });
      });

      test.each([
        ["alone", ["b"]],
        ["in a set", ["a", "b"]],
      ])("that it waited for: its lease is waited for, %s", async (_, paths) => {
        const run = await aRunWithBranches();
        const [answers, told] = await stage.collide({ first: claims(run, paths), second: cancelBy(run) });
        expect(answers).toMatchObject(paths.map(() => ({ outcome: "claimed" })));
        expect(told).toEqual(busy(run));
        expect(await claim(run, 2)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
        const finishes = paths.map((path) => run.toFinishBranch(path, { token: path }));
        const finished = await callOf("finish_turns", ...finishes)(stage.onlooker);
        expect(finished.at(-1)).toMatchObject({ continues: 2 });
        await claim(run, 2);
        expect(await run.kinds()).toEqual([...paths.map((path) => `step ${path}`), "closing"]);
      });

      test("that it waited for, and that rolls back: nothing is waited for", async () => {
        const run = await aRunWithBranches();
        const [, told] = await stage.collide({ first: claims(run, ["b"]), second: cancelBy(run), ends: "rollback" });
        expect(told).toEqual(free(run, 2));
      });

      test("whose lease is over: nothing is waited for, and what comes of it is superseded", async () => {
        const run = await aFanOut(stage, ["a"]);
        await stage.clock.set(noon + minute);
        expect(await cancel(run)).toEqual(free(run, 2));
        expect(await claim(run, 2)).toMatchObject({ ...written, position: 1 });
        expect(await run.finishBranch(stage.onlooker, "a", { token: "a" })).toEqual({ outcome: "superseded" });
      });
    });

    describe("and the rows of branches", () => {
      test("of another run: it neither waits for their locks nor for their leases", async () => {
        const [run, other] = [await aParkedRun(stage, branches(["a"])), await aFanOut(stage, ["a", "b"])];
        const holder = await stage.hold("select from layover.pending where run_id = $1 for update", [other.id]);
        expect(await cancel(run)).toEqual(free(run, 2));
        await holder.commit();
        expect(await other.state()).toMatchObject({ isReady: false });
      });

      test("of its own: it locks them by path, whatever their order", async () => {
        expect(await locksByPath(stage, (run, session) => cancelBy(run)(session))).toBe(true);
      });
    });

    describe("and the result of a branch", () => {
      const finish = (run: Run, path: string) => (session: Session) => run.finishBranch(session, path, { token: path });

      test("the last one of a map, that it waited for: the run is ready", async () => {
        const run = await aMap(stage, ["a", "b"]);
        await finish(run, "a")(stage.onlooker);
        const [finished, told] = await stage.collide({ first: finish(run, "b"), second: cancelBy(run) });
        expect([finished, told]).toMatchObject([{ continues: 2 }, free(run, 2)]);
        await claim(run, 2);
        expect(await run.kinds()).toEqual(["step a", "step b", "closing"]);
      });

      test("the last one of a map, that waits for it: the result is kept, and the run is sent for", async () => {
        const run = await aMap(stage, ["a", "b"]);
        await finish(run, "a")(stage.onlooker);
        const [told, finished] = await stage.collide({ first: cancelBy(run), second: finish(run, "b") });
        expect([told, finished]).toMatchObject([busy(run), { outcome: "finished", continues: 2 }]);
        expect(told).toEqual(busy(run));
        await claim(run, 2);
        expect(await run.kinds()).toEqual(["step a", "step b", "closing"]);
        expect(await stage.look("select from layover.map")).toEqual([]);
      });

      test("of a map with a queue: the next one in it does not begin", async () => {
        const run = await aMap(stage, ["a", "b"], { slots: 1 });
        await cancel(run);
        expect(await finish(run, "a")(stage.onlooker)).toMatchObject({ continues: 2 });
        expect(await run.claimBranch(stage.onlooker, "b", { token: "b" })).toEqual({ outcome: "superseded" });
      });

      test.each([
        ["in one call", true],
        ["one by one", false],
      ])("the last one at work sends for the run, whatever came of the others: %s", async (_, isSet) => {
        const run = await aFanOut(stage, ["a", "b", "c"]);
        await cancel(run);
        const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: 0 };
        const failed = await run.finishBranch(stage.onlooker, "a", { token: "a", attempt });
        expect(failed).toMatchObject({ outcome: "finished", continues: null });
        const again = await run.claimBranch(stage.onlooker, "a", { token: "again", turn: 2 });
        expect(again).toEqual({ outcome: "superseded" });
        const turns = ["b", "c"].map((path) => run.toFinishBranch(path, { token: path }));
        const answers = [];
        for (const some of isSet ? [turns] : turns.map((turn) => [turn]))
          answers.push(...(await callOf("finish_turns", ...some)(stage.onlooker)));
        expect(answers).toMatchObject([{ continues: null }, { continues: 2 }]);
        await claim(run, 2);
        expect(await run.kinds()).toEqual(["step b", "step c", "closing"]);
      });

      test("in a set, that waits for it: the results are kept, and the last one sends for the run", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        const turns = ["a", "b"].map((path) => run.toFinishBranch(path, { token: path }));
        const [told, answers] = await stage.collide({
          first: cancelBy(run),
          second: callOf("finish_turns", ...turns),
        });
        expect(told).toEqual(busy(run));
        expect(answers).toMatchObject([{ continues: null }, { continues: 2 }]);
      });

      test("in a set, that it waited for: the run is ready", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        const turns = ["a", "b"].map((path) => run.toFinishBranch(path, { token: path }));
        const [, told] = await stage.collide({ first: callOf("finish_turns", ...turns), second: cancelBy(run) });
        expect(told).toEqual(free(run, 2));
      });

      test("that lost its race: its lease is waited for, and its result is kept", async () => {
        const [winner, loser] = ["race/a", "race/b"] as const;
        const run = await aFanOut(stage, [winner, loser]);
        await finish(run, winner)(stage.onlooker);
        await claim(run, 2);
        const released = [{ prefix: "race/", position: 1 }];
        await run.finish(stage.onlooker, {
          token: "turn 2",
          position: 1,
          released,
          demands: [aWaitFor("address", { demandedAfter: 1 })],
        });
        expect(await cancel(run)).toEqual(busy(run));
        expect(await claim(run, 3)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
        const told = { outcome: "renewed", cancel: { reason: "to see" } };
        expect(await run.renew(stage.onlooker, loser, { path: loser })).toMatchObject(told);
        expect(await finish(run, loser)(stage.onlooker)).toMatchObject({ continues: 3 });
        await claim(run, 3);
        expect(await run.kinds()).toEqual(["step race/a", "step race/b", "closing"]);
      });
    });
  },
  { perTest: true },
);
