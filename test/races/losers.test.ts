/** A branch that lost its race is not begun again, continues nothing, and what it did is in the history. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, at, branches, minute, noon, type Run, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "after a race",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["what is not over, paused or blocked and needs to be looked at has a due instant"],
    });
    const callOf = async (name: "claim_turns" | "finish_turns", more: object, ...turns: object[]) =>
      (await stage.onlooker.call(name, { ...terms, ...more, turns })).turns;

    describe("a branch that lost a race", () => {
      const [winner, loser, other] = ["race/a", "race/b", "race/c"] as const;
      const failed = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: 0 };
      /** Both losers are at work when the race is decided. */
      const aDecidedRace = async () => {
        const run = await aFanOut(stage, [winner, loser, other]);
        await run.finishBranch(stage.onlooker, winner, { token: winner });
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        const released = [{ prefix: "race/", position: 1 }];
        await run.finish(stage.onlooker, { token: "second", position: 1, released });
        return run;
      };

      test("is not claimed again, when its lease is over", async () => {
        const run = await aDecidedRace();
        await stage.clock.advance(2 * minute);
        const again = await run.claimBranch(stage.onlooker, loser, { token: "again", alone: true });
        expect(again).toEqual({ outcome: "superseded" });
      });

      test("is not tried again, when its attempt failed: neither alone nor in a set", async () => {
        const run = await aDecidedRace();
        for (const path of [loser, other])
          await run.finishBranch(stage.onlooker, path, { token: path, attempt: failed });
        const claims = [loser, other].map((path) => ({ ...run.toClaim({ token: "again", turn: 2 }), ...at(path) }));
        const superseded = claims.map(() => ({ outcome: "superseded" }));
        expect(await callOf("claim_turns", {}, ...claims.slice(1))).toEqual(superseded.slice(1));
        expect(await callOf("claim_turns", {}, ...claims)).toEqual(superseded);
      });

      test("is recorded, and continues nothing, together with another one", async () => {
        const run = await aDecidedRace();
        const turns = [loser, other].map((path) => run.toFinishBranch(path, { token: path }));
        expect(await callOf("finish_turns", {}, ...turns)).toMatchObject(
          turns.map(() => ({ outcome: "finished", continues: null })),
        );
        expect(await run.state()).toMatchObject({ isReady: false, lastPosition: 3 });
      });

      test("leaves an attempt if its lease has lapsed, after those that failed, and so does no branch of another run", async () => {
        const [run, stranger] = [await aFanOut(stage, [winner, loser]), await aDecidedRace()];
        await run.finishBranch(stage.onlooker, loser, { token: loser, attempt: failed });
        await run.claimBranch(stage.onlooker, loser, { token: "again", turn: 2 });
        await run.finishBranch(stage.onlooker, winner, { token: winner });
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        const released = [{ prefix: "race/", position: 1 }];
        await run.finish(stage.onlooker, { token: "second", position: 1, released });
        const bound =
          "(run_id, path, occurrence, kind, demanded_after, ordinal, child_run_id, child_bond, is_released)";
        await stage.onlooker.query(
          `insert into layover.pending ${bound} values ($1, 'race/it', 1, 'child', 0, 9, gen_random_uuid(), 'cancelled', true)`,
          [run.id],
        );
        await stage.clock.advance(2 * minute);
        await stage.onlooker.query("update layover.run_state set ready_at = layover.now() where run_id = $1", [run.id]);
        await run.claim(stage.onlooker, { token: "third", turn: 3 });
        expect(Object.keys(await run.pending())).toEqual(["race/it"]);
        expect(Object.keys(await stranger.pending()).toSorted()).toEqual([loser, other]);
        const attempts = "select path, number from layover.attempt where run_id = $1 order by number";
        expect(await stage.look(attempts, [run.id])).toEqual([
          { path: loser, number: 1 },
          { path: loser, number: 2 },
        ]);
      });

      test("is told to whoever claims the run and knows of it, for as long as its lease stands", async () => {
        const run = await aDecidedRace();
        const claim = { token: "third", turn: 3, have: { epoch: 0, position: 1, rowsThrough: 1 } };
        await stage.onlooker.query("update layover.run_state set ready_at = layover.now()");
        const losers = [loser, other].map((path) => ({ path, isReleased: true }));
        expect(await run.claim(stage.onlooker, claim)).toMatchObject({ outcome: "claimed", pending: losers });
        await stage.clock.advance(30_000);
        await run.renew(stage.onlooker, loser, { path: loser });
        await stage.clock.advance(40_000);
        const again = { ...claim, token: "fourth", alone: true };
        expect(await run.claim(stage.onlooker, again)).toMatchObject({
          outcome: "claimed",
          pending: losers.slice(0, 1),
        });
        expect(Object.keys(await run.pending())).toEqual([loser]);
      });

      test("is let go by a finish that is deferred, since another record came between", async () => {
        const run = await aFanOut(stage, [winner, "elsewhere"]);
        await stage.onlooker.query("update layover.run_state set ready_at = layover.now()");
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        await run.finish(stage.onlooker, { token: "second", demands: branches([loser]) });
        await run.finishBranch(stage.onlooker, winner, { token: winner });
        await run.claim(stage.onlooker, { token: "third", turn: 3 });
        await run.finishBranch(stage.onlooker, "elsewhere", { token: "elsewhere" });
        const released = [{ prefix: "race/", position: 1 }];
        const answer = await run.finish(stage.onlooker, { token: "third", position: 1, released });
        expect(answer).toMatchObject({ outcome: "deferred" });
        expect(await run.claimBranch(stage.onlooker, loser, { token: loser })).toEqual({ outcome: "superseded" });
      });
    });

    describe("a loser of one race whose lease lapses in the turn that decides another one", () => {
      /** Both races are run at once, and `a/1` is at work when its race is decided. The turn that decides `b/` is under way. */
      const aSecondDecision = async () => {
        const run = await aFanOut(stage, ["a/0", "a/1", "b/0", "b/1"]);
        await run.finishBranch(stage.onlooker, "a/0", { token: "a/0" });
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        await run.finish(stage.onlooker, { token: "second", position: 1, released: [{ prefix: "a/", position: 1 }] });
        await run.finishBranch(stage.onlooker, "b/0", { token: "b/0" });
        await stage.clock.advance(minute / 2);
        await run.claim(stage.onlooker, { token: "third", turn: 3 });
        await stage.clock.advance(minute / 2);
        return run;
      };
      const decide = (run: Run) =>
        run.finish(stage.onlooker, { token: "third", position: 2, released: [{ prefix: "b/", position: 2 }] });

      test("is recorded all the same", async () => {
        const run = await aSecondDecision();
        expect(await decide(run)).toMatchObject({ outcome: "finished" });
        const late = await run.finishBranch(stage.onlooker, "a/1", { token: "a/1" });
        expect(late).toMatchObject({ outcome: "finished", continues: null });
        expect(await run.history()).toEqual(["a/0", "b/0", "a/1"]);
      });

      test("is not waited for by that decision", async () => {
        const run = await aSecondDecision();
        await stage.hold("select from layover.pending where path = 'a/1' for update");
        expect(await decide(run)).toMatchObject({ outcome: "finished" });
      });
    });
  },
  { perTest: true },
);
