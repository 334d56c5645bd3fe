/** A run that closes while branches or losers of races are at work: the last one of them sends for the run. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { record as finish } from "./branching.ts";
import { aFanOut, aParkedRun, at, branches, minute, noon, type Run } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";
import { aClose, callOf, claimsOn, closesBy } from "./undoing.ts";

describeSomePostgres(
  "the closing of a run",
  (database) => {
    const stage = stageOn(database);
    const claim = claimsOn(stage);
    const claimed = { outcome: "claimed" };
    const superseded = { outcome: "superseded" };
    const failed = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: 0 };
    const second = { token: "turn 2", position: 1 };
    /** Its second turn is under way, and so are these. */
    const atWork = async (...others: readonly string[]) => {
      const run = await aFanOut(stage, ["first", ...others]);
      await finish(run, "first")(stage.onlooker);
      await claim(run, 2);
      return run;
    };

    describe("and the finish of the last branch", () => {
      test("that waits for it sends for the run at once", async () => {
        const run = await atWork("b");
        const [closed, recorded] = await stage.collide({ first: closesBy(run, second), second: finish(run, "b") });
        expect([closed, recorded]).toMatchObject([{ turn: 3 }, { outcome: "finished", continues: 3 }]);
        expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 3, attempted: [] });
      });

      test("that it waited for: it is deferred, and the run goes on at once", async () => {
        const run = await atWork("b");
        const [recorded, deferred] = await stage.collide({ first: finish(run, "b"), second: closesBy(run, second) });
        expect(recorded).toMatchObject({ outcome: "finished", continues: null });
        expect(deferred).toMatchObject({ outcome: "deferred", turn: 3, isReady: true });
        expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 2 });
        expect(await run.kinds()).toEqual(["step first", "step b"]);
        const again = { token: "turn 3", position: 2 };
        expect(await closesBy(run, again)(stage.onlooker)).toMatchObject({ outcome: "finished", isReady: true });
        expect(await claim(run, 4)).toMatchObject({ ...claimed, attempted: [] });
      });

      const finishAll = (run: Run, paths: readonly string[]) =>
        callOf("finish_turns", ...paths.map((path) => run.toFinishBranch(path, { token: path })))(stage.onlooker);
      const sent = { outcome: "finished", continues: 3 };

      test.each([
        ["alone", ["b"], [sent]],
        ["in a set", ["b", "c"], [{ continues: null }, sent]],
        ["in a set with one whose lease is over as well", ["b", "d"], [sent, sent]],
      ])(
        "%s sends for the run, whoever is at work elsewhere, and whose lease ends at this moment",
        async (_, paths, told) => {
          const [other, run] = [await atWork("of another"), await atWork("b", "c", "d", "e")];
          await closesBy(run, second)(stage.onlooker);
          if (!paths.includes("c")) await finish(run, "c")(stage.onlooker);
          await stage.clock.set(noon + minute / 2);
          await other.renew(stage.onlooker, "of another", { path: "of another" });
          for (const path of ["b", ...paths.filter((each) => each === "c")])
            await run.renew(stage.onlooker, path, { path });
          await stage.clock.set(noon + minute); // the leases of `d` and `e` end
          expect(await finishAll(run, paths)).toMatchObject(told);
        },
      );

      test.each([
        ["alone", ["b"]],
        ["in a set", ["b", "d"]],
      ])("%s waits for one that is in a cleanup", async (_, paths) => {
        const run = await atWork("b", "c", "d");
        await closesBy(run, second)(stage.onlooker);
        if (!paths.includes("d")) await finish(run, "d")(stage.onlooker);
        await stage.onlooker.query("update layover.pending set is_shielded = true where run_id = $1 and path = 'c'", [
          run.id,
        ]);
        expect(await finishAll(run, paths)).toMatchObject(paths.map(() => ({ outcome: "finished", continues: null })));
        expect(await finish(run, "c")(stage.onlooker)).toMatchObject(sent);
      });

      test("whose attempt failed, and that it waited for: the run goes on at once, and knows of the attempt", async () => {
        const run = await atWork("b");
        const fail = (session: Session) => run.finishBranch(session, "b", { token: "b", attempt: failed });
        const [, closed] = await stage.collide({ first: fail, second: closesBy(run, second) });
        expect(closed).toMatchObject({ outcome: "finished", turn: 3, isReady: true });
        expect(await claim(run, 3)).toMatchObject({ ...claimed, attempted: [at("b")] });
      });

      test("whose attempt failed, and that waits for it: it sends for the run at once, and is not tried again", async () => {
        const run = await atWork("b");
        const fail = (session: Session) => run.finishBranch(session, "b", { token: "b", attempt: failed });
        const [, told] = await stage.collide({ first: closesBy(run, second), second: fail });
        expect(told).toMatchObject({ outcome: "finished", continues: 3 });
        const again = await run.claimBranch(stage.onlooker, "b", { token: "again", turn: 2 });
        expect(again).toEqual(superseded);
        expect(await claim(run, 3)).toMatchObject({ ...claimed, attempted: [at("b")] });
      });

      test.each([
        ["in one call", true],
        ["one by one", false],
      ])("sends for the run, and the one before does not: %s", async (_, isSet) => {
        const run = await atWork("b", "c", "d");
        await closesBy(run, second)(stage.onlooker);
        const turns = ["b", "c", "d"].map((path) => run.toFinishBranch(path, { token: path }));
        const answers = [];
        for (const some of isSet ? [turns.slice(0, 1), turns.slice(1)] : turns.map((turn) => [turn]))
          answers.push(...(await callOf("finish_turns", ...some)(stage.onlooker)));
        expect(answers).toMatchObject([null, null, 3].map((continues) => ({ continues })));
        expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 5, attempted: [] });
      });

      test("in one call with the finish that closes another run: each run goes on by itself", async () => {
        const [run, other] = [await atWork("b"), await atWork("b")];
        await closesBy(run, second)(stage.onlooker);
        const turns = [run.toFinishBranch("b", { token: "b" }), other.toFinish(aClose(second))];
        expect(await callOf("finish_turns", ...turns)(stage.onlooker)).toMatchObject([{ continues: 3 }, { turn: 3 }]);
        expect(await claim(run, 3)).toMatchObject({ ...claimed, attempted: [] });
        expect(await claim(other, 3)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
      });
    });

    describe("and the losers of races", () => {
      const race = ["race/a", "race/b", "race/c"] as const;
      /** `race/a` has won. Its losers are at work, and its third turn is under way. */
      const aDecidedRace = async () => {
        const run = await aFanOut(stage, race);
        await finish(run, race[0])(stage.onlooker);
        await claim(run, 2);
        const released = [{ prefix: "race/", position: 1 }];
        await run.finish(stage.onlooker, { token: "turn 2", position: 1, released, demands: branches(["more"]) });
        await run.claimBranch(stage.onlooker, "more", { token: "more" });
        await finish(run, "more")(stage.onlooker);
        await claim(run, 3);
        return run;
      };
      const third = { token: "turn 3", position: 2 };

      test("that record while the run lives: each of them is waited for, and stands in the history", async () => {
        const run = await aDecidedRace();
        await closesBy(run, third)(stage.onlooker);
        expect(await finish(run, race[1])(stage.onlooker)).toMatchObject({ outcome: "finished", continues: null });
        expect(await claim(run, 4)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
        expect(await finish(run, race[2])(stage.onlooker)).toMatchObject({ outcome: "finished", continues: 4 });
        expect(await claim(run, 4)).toMatchObject({ ...claimed, position: 5, attempted: [] });
        expect(await run.kinds()).toEqual(["step race/a", "step more", "step x", "step race/b", "step race/c"]);
      });

      test("whose leases lapse: each of them was interrupted, and records nothing more", async () => {
        const run = await aDecidedRace();
        await closesBy(run, third)(stage.onlooker);
        await stage.clock.advance(minute);
        expect(await claim(run, 4)).toMatchObject({ ...claimed, position: 3, attempted: [at(race[1]), at(race[2])] });
        expect(await finish(run, race[1])(stage.onlooker)).toEqual(superseded);
        const left = await stage.look("select path, number, error from layover.attempt order by path");
        const error = expect.stringContaining("interrupted");
        expect(left).toEqual(race.slice(1).map((path) => ({ path, number: 1, error })));
      });

      test("whose leases lapsed long before it: each of them was interrupted", async () => {
        const run = await aFanOut(stage, race);
        await finish(run, race[0])(stage.onlooker);
        await stage.clock.advance(minute);
        await claim(run, 2);
        const released = [{ prefix: "race/", position: 1 }];
        await run.finish(stage.onlooker, { token: "turn 2", position: 1, next: "ready", released });
        await claim(run, 3);
        expect(await run.pending()).toEqual({});
        await closesBy(run, { token: "turn 3", position: 1 })(stage.onlooker);
        expect(await claim(run, 4)).toMatchObject({ ...claimed, attempted: [at(race[1]), at(race[2])] });
      });

      test("that nobody has begun: none of them may have had an effect", async () => {
        const run = await aParkedRun(stage, branches(race));
        await run.claimBranch(stage.onlooker, race[0], { token: race[0] });
        await finish(run, race[0])(stage.onlooker);
        await claim(run, 2);
        const released = [{ prefix: "race/", position: 1 }];
        await run.finish(stage.onlooker, { ...aClose(second), released });
        expect(await claim(run, 3)).toMatchObject({ ...claimed, attempted: [] });
      });

      test("of which the last one records while the finish that closes waits for its lock: it is deferred", async () => {
        const run = await aDecidedRace();
        await finish(run, race[1])(stage.onlooker);
        const at2 = { token: "turn 3", position: 2 };
        const [recorded, deferred] = await stage.collide({ first: finish(run, race[2]), second: closesBy(run, at2) });
        expect([recorded, deferred]).toMatchObject([{ continues: null }, { outcome: "deferred", isReady: true }]);
        expect(await claim(run, 4)).toMatchObject({ ...claimed, position: 4 });
      });
    });
  },
  { perTest: true },
);
