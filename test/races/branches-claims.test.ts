/** A branch that is claimed by two at once, late, or from a holder whose lease is over: one of them has it. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { record, retry } from "./branching.ts";
import { aFanOut, aParkedRun, branches, minute, noon, type Run, second, tokenOf } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a branch",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["what is not over, paused or blocked and needs to be looked at has a due instant"],
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
        const takeOver = (run: Run, alone = true) => claim(run, "second", { alone });

        test.each([
          ["has locked the run", true],
          ["has locked the branch only", false],
        ])("supersedes the finish that waits for its lock, where it %s", async (_, alone) => {
          const run = await aDeadBranch();
          const [taken, finished] = await stage.collide({ first: takeOver(run, alone), second: record(run, "a") });
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
  },
  { perTest: true },
);
