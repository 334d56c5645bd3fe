/** A branch, and the turn of its run that goes on, ends the run or decides a race at the same moment. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { record } from "./branching.ts";
import { aFanOut, aParkedRun, branches, minute, type Run, tokenOf } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a branch",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["what is not over, paused or blocked and needs to be looked at has a due instant"],
    });
    const end = (run: Run) => (session: Session) =>
      run.finish(session, { token: "second", position: 1, next: "completed", value: "0null" });
    /** It is at work again, since "a" is recorded. Nobody has claimed "b". */
    const aRunWithABranchLeft = async () => {
      const run = await aParkedRun(stage, branches(["a", "b"]));
      await run.claimBranch(stage.onlooker, "a", { token: "a" });
      await record(run, "a")(stage.onlooker);
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      return run;
    };

    describe("against the continuation of its run", () => {
      test("is seen by the claim that waits for the lock of its finish", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await record(run, "a")(stage.onlooker);
        const claim = (session: Session) => run.claim(session, { token: "second", turn: 2 });
        const [, claimed] = await stage.collide({ first: record(run, "b"), second: claim });
        expect(claimed).toMatchObject({ outcome: "claimed", position: 2 });
        expect(claimed).toHaveProperty("records.length", 2);
      });

      test("leaves the run to be continued again when its finish waits for the claim's lock", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await record(run, "a")(stage.onlooker);
        const claim = (session: Session) => run.claim(session, { token: "second", turn: 2 });
        const [claimed, recorded] = await stage.collide({ first: claim, second: record(run, "b") });
        expect(claimed).toMatchObject({ outcome: "claimed", position: 1 });
        expect(recorded).toMatchObject({ outcome: "finished", continues: null });
        const park = { token: "second", position: 1 };
        expect(await run.finish(stage.onlooker, park)).toMatchObject({ outcome: "deferred", isReady: true });
      });

      test("is not carried out after the run has ended while its claim waited", async () => {
        const run = await aRunWithABranchLeft();
        const claim = (session: Session) => run.claimBranch(session, "b", { token: "b" });
        const [ended, claimed] = await stage.collide({ first: end(run), second: claim });
        expect(ended).toMatchObject({ outcome: "finished", status: "completed" });
        expect(claimed).toEqual({ outcome: "superseded" });
      });

      test("records nothing after the run has ended while its claim was under way", async () => {
        const run = await aRunWithABranchLeft();
        const claim = (session: Session) => run.claimBranch(session, "b", { token: "b" });
        const [claimed, ended] = await stage.collide({ first: claim, second: end(run) });
        expect(claimed).toMatchObject({ outcome: "claimed" });
        expect(ended).toMatchObject({ outcome: "finished", status: "completed" });
        expect(await record(run, "b")(stage.onlooker)).toEqual({ outcome: "superseded" });
        expect(await run.pending()).toEqual({});
      });

      test("records nothing when its finish waits for the lock of the finish that ends the run", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await record(run, "a")(stage.onlooker);
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        const [, recorded] = await stage.collide({ first: end(run), second: record(run, "b") });
        expect(recorded).toEqual({ outcome: "superseded" });
        expect(await run.history()).toEqual(["a"]);
      });
    });

    describe("that lost a race", () => {
      const prefix = "race/";
      const [winner, loser] = ["race/a", "race/b"] as const;
      /** The winner is recorded, and the continuation that decides the race is under way. */
      const aDecision = async (claimed: readonly string[]) => {
        const run = await aParkedRun(stage, branches([winner, loser]));
        for (const path of claimed) await run.claimBranch(stage.onlooker, path, { token: path });
        await record(run, winner)(stage.onlooker);
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        return run;
      };
      const decide = (run: Run) => (session: Session) =>
        run.finish(session, { token: "second", position: 1, released: [{ prefix, position: 1 }] });
      const claim = (run: Run) => (session: Session) => run.claimBranch(session, loser, { token: loser });

      test("is not carried out when its claim waits for the decision's lock", async () => {
        const run = await aDecision([winner]);
        const [decided, claimed] = await stage.collide({ first: decide(run), second: claim(run) });
        expect(decided).toMatchObject({ outcome: "finished" });
        expect(claimed).toEqual({ outcome: "superseded" });
        expect(await run.pending()).toEqual({});
      });

      test("is claimed when the decision rolls back", async () => {
        const run = await aDecision([winner]);
        const [, claimed] = await stage.collide({ first: decide(run), second: claim(run), ends: "rollback" });
        expect(claimed).toMatchObject({ outcome: "claimed" });
      });

      test("keeps its lease when the decision waits for its claim's lock, and records without continuing the run", async () => {
        const run = await aDecision([winner]);
        const [claimed, decided] = await stage.collide({ first: claim(run), second: decide(run) });
        expect(claimed).toMatchObject({ outcome: "claimed" });
        expect(decided).toMatchObject({ outcome: "finished" });
        expect(await run.pending()).toMatchObject({ [loser]: { isReleased: true, token: tokenOf(loser) } });
        expect(await record(run, loser)(stage.onlooker)).toMatchObject({ outcome: "finished", continues: null });
        expect(await run.state()).toMatchObject({ isReady: false, lastPosition: 2 });
      });

      test("is released when its claim rolls back while the decision waits", async () => {
        const run = await aDecision([winner]);
        await stage.collide({ first: claim(run), second: decide(run), ends: "rollback" });
        expect(await run.pending()).toEqual({});
      });

      test("is in the history when the decision waits for the lock of its finish: that is deferred", async () => {
        const run = await aDecision([winner, loser]);
        const [recorded, decided] = await stage.collide({ first: record(run, loser), second: decide(run) });
        expect(recorded).toMatchObject({ outcome: "finished", continues: null });
        expect(decided).toMatchObject({ outcome: "deferred", isReady: true });
        expect(await run.history()).toEqual([winner, loser]);
        expect(await run.pending()).toMatchObject({ [loser]: { position: 2 } });
      });

      test("is in the history when its finish waits for the decision's lock, and does not continue the run", async () => {
        const run = await aDecision([winner, loser]);
        const [decided, recorded] = await stage.collide({ first: decide(run), second: record(run, loser) });
        expect(decided).toMatchObject({ outcome: "finished" });
        expect(recorded).toMatchObject({ outcome: "finished", continues: null });
        expect(await run.history()).toEqual([winner, loser]);
        expect(await run.state()).toMatchObject({ isReady: false });
      });

      test("is gone when a claim of its run finds its lease over, unless that waits for its renewal", async () => {
        const run = await aDecision([winner, loser]);
        await decide(run)(stage.onlooker);
        await run.signal(stage.onlooker, "unrelated");
        await stage.clock.advance(2 * minute);
        await stage.onlooker.query("update layover.run_state set ready_at = layover.now()");
        const renew = (session: Session) => run.renew(session, loser, { path: loser });
        const next = (session: Session) => run.claim(session, { token: "third", turn: 3 });
        const [renewed, claimed] = await stage.collide({ first: renew, second: next });
        expect(renewed).toMatchObject({ outcome: "renewed" });
        expect(claimed).toMatchObject({ outcome: "claimed", pending: [{ path: loser, isReleased: true }] });
        await stage.clock.advance(2 * minute);
        const again = { token: "fourth", turn: 3, alone: true };
        expect(await run.claim(stage.onlooker, again)).toMatchObject({ outcome: "claimed", pending: null });
        expect(await run.pending()).toEqual({});
      });
    });
  },
  { perTest: true },
);
