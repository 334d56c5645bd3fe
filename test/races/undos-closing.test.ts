/** A run that closes: no branch of it begins any more, and whoever has begun is waited for. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { record as finish } from "./branching.ts";
import { locksByPath } from "./lock-order.ts";
import { aParkedRun, aRunAtWork, at, branches, minute, noon, type Run } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";
import { callOf, claimsOn, closesBy, endsBy } from "./undoing.ts";

describeSomePostgres(
  "the closing of a run",
  (database) => {
    const stage = stageOn(database);
    const claim = claimsOn(stage);
    const claimed = { outcome: "claimed" };
    const superseded = { outcome: "superseded" };
    const second = { token: "turn 2", position: 1 };
    /** Its second turn is under way. The others are pending, and nobody has claimed them. */
    const aRunWith = async (...others: readonly string[]) => {
      const run = await aParkedRun(stage, branches(["first", ...others]));
      await run.claimBranch(stage.onlooker, "first", { token: "first" });
      await finish(run, "first")(stage.onlooker);
      await claim(run, 2);
      return run;
    };
    const ways = [
      ["alone", ["b"]],
      ["in a set", ["b", "c"]],
    ] as const;
    const claimsOf = (run: Run, paths: readonly string[], more: object = {}) =>
      callOf("claim_turns", ...paths.map((path) => ({ ...run.toClaim({ token: path }), ...at(path), ...more })));

    describe("and the claim of a branch", () => {
      test.each(ways)("that waits for it: nothing begins, %s", async (_, paths) => {
        const run = await aRunWith("b", "c");
        const [closed, refused] = await stage.collide({ first: closesBy(run, second), second: claimsOf(run, paths) });
        expect(closed).toMatchObject({ outcome: "finished", turn: 3, isReady: true });
        expect(refused).toEqual(paths.map(() => superseded));
        expect(await claim(run, 3)).toMatchObject({ ...claimed, attempted: [] });
        expect(await run.pending()).toEqual({});
      });

      test.each(ways)("that it waited for: it has begun, and is waited for, %s", async (_, paths) => {
        const run = await aRunWith("b", "c");
        const [begun, closed] = await stage.collide({ first: claimsOf(run, paths), second: closesBy(run, second) });
        expect(begun).toMatchObject(paths.map(() => claimed));
        expect(closed).toMatchObject({ outcome: "finished", turn: 3 });
        expect(await claim(run, 3)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
        await stage.clock.advance(minute);
        expect(await claim(run, 3)).toMatchObject({ ...claimed, attempted: paths.map(at) });
      });

      test.each(ways)("that it waited for, and that rolls back: nothing has begun, %s", async (_, paths) => {
        const run = await aRunWith("b", "c");
        await stage.collide({ first: claimsOf(run, paths), second: closesBy(run, second), ends: "rollback" });
        expect(await claimsOf(run, paths)(stage.onlooker)).toEqual(paths.map(() => superseded));
        expect(await claim(run, 3)).toMatchObject({ ...claimed, attempted: [] });
      });

      test("that has lost leases before, and is made alone: nothing begins, whichever waits", async () => {
        const run = await aRunWith("b");
        await run.lose(2);
        const alone = claimsOf(run, ["b"], { alone: true });
        const [, refused] = await stage.collide({ first: closesBy(run, second), second: alone });
        expect(refused).toEqual([superseded]);
        const other = await aRunWith("b");
        const claims = claimsOf(other, ["b"], { alone: true });
        const [begun] = await stage.collide({ first: claims, second: closesBy(other, second) });
        expect(begun).toMatchObject([claimed]);
        expect(await claim(other, 3)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
      });

      test("that rolls back: the branch begins", async () => {
        const run = await aRunWith("b");
        const claims = claimsOf(run, ["b"]);
        const [, begun] = await stage.collide({ first: closesBy(run, second), second: claims, ends: "rollback" });
        expect(begun).toMatchObject([claimed]);
      });

      test("that comes after it, before and after the claim of the run: nothing begins", async () => {
        const run = await aRunWith("b", "c");
        await closesBy(run, second)(stage.onlooker);
        expect(await claimsOf(run, ["b", "c"])(stage.onlooker)).toEqual([superseded, superseded]);
        await claim(run, 3);
        expect(await claimsOf(run, ["b", "c"])(stage.onlooker)).toEqual([superseded, superseded]);
      });

      test("that waits in the queue of a map: no slot that comes free begins it", async () => {
        const map = { path: "all", slots: 1, failsFast: true };
        const demands = [...branches(["all/a", "all/b"], map), ...branches(["other"])].map((demand, index) => ({
          ...demand,
          ordinal: index + 1,
        }));
        const run = await aParkedRun(stage, demands);
        for (const path of ["all/a", "other"]) await run.claimBranch(stage.onlooker, path, { token: path });
        await finish(run, "other")(stage.onlooker);
        await claim(run, 2);
        await closesBy(run, second)(stage.onlooker);
        expect(await finish(run, "all/a")(stage.onlooker)).toMatchObject({ continues: 3, branches: null });
        expect(await run.claimBranch(stage.onlooker, "all/b", { token: "all/b" })).toEqual(superseded);
        expect(await claim(run, 3)).toMatchObject({ ...claimed, attempted: [] });
      });
    });

    test("locks the branches by their paths", async () => {
      const arrange = async (run: Run) => {
        await stage.onlooker.query("update layover.run_state set ready_at = layover.now() where run_id = $1", [run.id]);
        await claim(run, 2);
      };
      const close = (run: Run, session: Session) => closesBy(run, { token: "turn 2" })(session);
      expect(await locksByPath(stage, close, arrange)).toBe(true);
    });

    test("comes twice: the second time it changes nothing, and the run ends all the same", async () => {
      const run = await aRunAtWork(stage);
      const answers = await stage.collide({ first: closesBy(run), second: closesBy(run) });
      expect(answers[1]).toEqual(answers[0]);
      expect(await closesBy(run)(stage.onlooker)).toEqual(answers[0]);
      expect(await claim(run, 2)).toMatchObject({ ...claimed, position: 1, attempted: [] });
      const end = { token: "turn 2", position: 1 };
      expect(await endsBy(run, end)(stage.onlooker)).toMatchObject({ outcome: "finished", turn: 3 });
      expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 3, attempted: null });
    });
  },
  { perTest: true },
);
