import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aMap, aParkedRun, branches, minute, noon, type Run, second, tokenOf } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a branch",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["what is not over, paused or blocked and needs to be looked at has a due instant"],
    });
    const record = (run: Run, path: string) => (session: Session) => run.finishBranch(session, path, { token: path });
    const fail = (run: Run, path: string) => (session: Session) =>
      run.finishBranch(session, path, { token: path, isFailure: true });
    const retry = (run: Run, path: string, retryInMs: number) => (session: Session) =>
      run.finishBranch(session, path, {
        token: path,
        attempt: { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs },
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

    describe("that is claimed", () => {
      const claim =
        (run: Run, token: string, { turn = 1, alone = false } = {}) =>
        (session: Session) =>
          run.claimBranch(session, "a", { token, turn, alone });

      test("by two at once, is given to one", async () => {
        const run = await aParkedRun(stage, branches(["a", "b"]));
        const [one, other] = await stage.collide({ first: claim(run, "one"), second: claim(run, "other") });
        expect(one).toMatchObject({ outcome: "claimed" });
        expect(other).toEqual({ outcome: "busy", until: noon + minute });
        expect(await run.pending()).toMatchObject({ a: { token: tokenOf("one") } });
      });

      test("by two at once, is given to the second if the first rolls back", async () => {
        const run = await aParkedRun(stage, branches(["a", "b"]));
        const both = { first: claim(run, "one"), second: claim(run, "other"), ends: "rollback" } as const;
        const [, other] = await stage.collide(both);
        expect(other).toMatchObject({ outcome: "claimed" });
        expect(await run.pending()).toMatchObject({ a: { token: tokenOf("other") } });
      });

      test.each(["commit", "rollback"] as const)(
        "by the same call twice at once, is answered the same, and counted once (%s)",
        async (ends) => {
          const run = await aFanOut(stage, ["a", "b"]);
          await stage.clock.advance(2 * minute);
          const same = claim(run, "again", { alone: true });
          const [one, other] = await stage.collide({ first: same, second: same, ends });
          expect(one).toMatchObject({ outcome: "claimed" });
          expect(other).toEqual(one);
          expect(await run.pending()).toMatchObject({ a: { lost: 1 } });
        },
      );

      test("late, behind the finish that recorded it, is superseded", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        const [, late] = await stage.collide({ first: record(run, "a"), second: claim(run, "late") });
        expect(late).toEqual({ outcome: "superseded" });
      });

      test("late, behind the finish of an attempt that failed, is stale and told the current turn", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        const [, late] = await stage.collide({ first: retry(run, "a", 0), second: claim(run, "late") });
        expect(late).toEqual({ outcome: "stale", turn: 2 });
      });

      test("while its lease begins, leases from the moment at which it has the lock", async () => {
        const run = await aParkedRun(stage, branches(["a", "b"]));
        const hold = (session: Session) => session.query("select from layover.pending for update");
        const meanwhile = () => stage.clock.advance(30 * second);
        await stage.collide({ first: hold, second: claim(run, "a"), meanwhile });
        expect(await run.pending()).toMatchObject({ a: { leasedUntil: noon + 30 * second + minute } });
      });

      describe("from a holder whose lease is over", () => {
        const aDeadBranch = async () => {
          const run = await aFanOut(stage, ["a", "b"]);
          await stage.clock.advance(2 * minute);
          return run;
        };
        const takeOver = (run: Run) => claim(run, "second", { alone: true });

        test("supersedes the finish that waits for its lock", async () => {
          const run = await aDeadBranch();
          const [taken, finished] = await stage.collide({ first: takeOver(run), second: record(run, "a") });
          expect(taken).toMatchObject({ outcome: "claimed" });
          expect(finished).toEqual({ outcome: "superseded" });
          expect(await run.history()).toEqual([]);
        });

        test("is superseded when it waits for the lock of the late finish", async () => {
          const run = await aDeadBranch();
          const [finished, taken] = await stage.collide({ first: record(run, "a"), second: takeOver(run) });
          expect(finished).toMatchObject({ outcome: "finished" });
          expect(taken).toEqual({ outcome: "superseded" });
        });

        test("succeeds when the late finish rolls back", async () => {
          const run = await aDeadBranch();
          const both = { first: record(run, "a"), second: takeOver(run), ends: "rollback" } as const;
          const [, taken] = await stage.collide(both);
          expect(taken).toMatchObject({ outcome: "claimed", turn: 1 });
        });

        test("supersedes the renewal that waits for its lock", async () => {
          const run = await aDeadBranch();
          const renew = (session: Session) => run.renew(session, "a", { path: "a" });
          const [, renewed] = await stage.collide({ first: takeOver(run), second: renew });
          expect(renewed).toEqual({ outcome: "superseded" });
        });

        test("is busy when it waits for the lock of a late renewal", async () => {
          const run = await aDeadBranch();
          const renew = (session: Session) => run.renew(session, "a", { path: "a" });
          const [, taken] = await stage.collide({ first: renew, second: takeOver(run) });
          expect(taken).toEqual({ outcome: "busy", until: noon + 3 * minute });
        });
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
