import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aParkedRun, aRun, branches, minute, noon, type Run, second } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

/**
 * Whoever stops a run locks it, sets a flag, locks every pending row, then looks whether a branch is at work; the claim
 * of a branch locks its row, then reads the run. The part of whoever stops the run is done by hand here, so that each step
 * of it can be met. (For the verbs themselves: pauses.test.ts, cancels-of-branches.test.ts.)
 */
const flags = [
  ["paused", "paused_at = layover.now(), due_at = null", "paused"],
  ["cancelled", "cancel_requested_at = layover.now()", "superseded"],
  ["at its timeout", "timeout_at = layover.now()", "superseded"],
] as const;

describeSomePostgres(
  "the stop of a run",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["a parked run is ready from its cancel, its timeout or the end of its cleanups' hour on"],
    });

    describe.each(flags)("that is %s, against the claim of a branch", (_, change, refusal) => {
      const aRunWithBranches = () => aParkedRun(stage, branches(["a", "b"]));
      const claim = (run: Run) => (session: Session) => run.claimBranch(session, "b", { token: "b" });
      const flag = async (session: Session) => {
        await session.query("select from layover.run_state for update");
        await session.query(`update layover.run_state set ${change}`);
      };
      const lock = (session: Session) =>
        session.query("select from layover.pending order by path, occurrence for update");
      const isAtWork = async (session: Session) =>
        (await session.query("select from layover.pending where leased_until > layover.now()")).length > 0;
      const stop = async (session: Session) => {
        await flag(session);
        await lock(session);
        return await isAtWork(session);
      };

      test("refuses the claim that waits for its lock", async () => {
        const run = await aRunWithBranches();
        const [atWork, claimed] = await stage.collide({ first: stop, second: claim(run) });
        expect(atWork).toBe(false);
        expect(claimed).toEqual({ outcome: refusal });
      });

      test("lets the claim through when it rolls back", async () => {
        const run = await aRunWithBranches();
        const [, claimed] = await stage.collide({ first: stop, second: claim(run), ends: "rollback" });
        expect(claimed).toMatchObject({ outcome: "claimed" });
      });

      test("sees the branch at work whose claim it waited for", async () => {
        const run = await aRunWithBranches();
        const [claimed, atWork] = await stage.collide({ first: claim(run), second: stop });
        expect(claimed).toMatchObject({ outcome: "claimed" });
        expect(atWork).toBe(true);
      });

      test("sees no branch at work when the claim that it waited for rolls back", async () => {
        const run = await aRunWithBranches();
        const [, atWork] = await stage.collide({ first: claim(run), second: stop, ends: "rollback" });
        expect(atWork).toBe(false);
        expect(await claim(run)(stage.onlooker)).toEqual({ outcome: refusal });
      });

      test("sees the branch at work that was claimed between its flag and its locks", async () => {
        const run = await aRunWithBranches();
        const stopper = await stage.session("stopper");
        await stopper.begin();
        await flag(stopper);
        expect(await claim(run)(stage.onlooker)).toMatchObject({ outcome: "claimed" });
        await lock(stopper);
        expect(await isAtWork(stopper)).toBe(true);
      });

      test("waits for the claim that has its lock, but has not read the run yet", async () => {
        const run = await aRunWithBranches();
        const gate = await stage.gate("layover.run_state", "access exclusive");
        const [claimer, stopper] = [await stage.session("claimer"), await stage.session("stopper")];
        const claimed = claim(run)(claimer);
        await claimer.untilBlocked(gate);
        await stopper.begin();
        const locked = lock(stopper);
        await stopper.untilBlocked(claimer);
        await gate.commit();
        expect(await claimed).toMatchObject({ outcome: "claimed" });
        await locked;
        expect(await isAtWork(stopper)).toBe(true);
      });
    });

    test.each([
      ["paused", []],
      ["cancelled", ["closing"]],
      ["at its timeout", ["closing"]],
    ] as const)(
      "that is %s is seen by the claim of the run that waits for its lock, and the claim writes: %j",
      async (what, written) => {
        const run = await aRun(stage);
        const change = flags.find(([name]) => name === what)?.[1];
        const flag = (session: Session) => session.query(`update layover.run_state set ${change}`);
        const claim = (session: Session) => run.claim(session, { token: "first" });
        const [, claimed] = await stage.collide({ first: flag, second: claim });
        expect(claimed).toMatchObject({ outcome: what === "paused" ? "paused" : "claimed" });
        expect(await run.kinds()).toEqual(written);
      },
    );

    test("that is cancelled, recorded by the claim of the run, waits until the branch is done whose claim came before", async () => {
      const run = await aParkedRun(stage, branches(["a", "b"]));
      const [claimed, refused] = await stage.collide({
        first: async (session) => {
          const answer = await run.claimBranch(session, "b", { token: "b" });
          await stage.onlooker.query("update layover.run_state set cancel_requested_at = layover.now()");
          return answer;
        },
        second: (session) => run.claim(session, { token: "second", turn: 2 }),
      });
      expect(claimed).toMatchObject({ outcome: "claimed" });
      expect(refused).toEqual({ outcome: "not_ready", readyAt: noon + minute });
      expect(await run.finishBranch(stage.onlooker, "b", { token: "b" })).toMatchObject({ outcome: "finished" });
      expect(await run.claim(stage.onlooker, { token: "second", turn: 2 })).toMatchObject({ position: 2 });
      expect(await run.history()).toEqual(["b", ""]);
    });

    describe("at its timeout, recorded by the claim of the run", () => {
      const timeoutMs = 10 * second;
      const aRunNearItsTimeout = async () => {
        const run = await aParkedRun(stage, branches(["a", "b"]), { timeoutMs });
        await stage.clock.advance(timeoutMs - 1);
        return run;
      };
      const claim = (run: Run) => (session: Session) => run.claimBranch(session, "b", { token: "b" });
      const claimRun = (run: Run) => (session: Session) => run.claim(session, { token: "second", turn: 2 });
      const pass = () => stage.clock.advance(1);

      test("waits until the branch is done that was claimed just before", async () => {
        const run = await aRunNearItsTimeout();
        const [claimed, refused] = await stage.collide({
          first: async (session) => {
            const answer = await claim(run)(session);
            await pass();
            return answer;
          },
          second: claimRun(run),
        });
        expect(claimed).toMatchObject({ outcome: "claimed" });
        expect(refused).toEqual({ outcome: "not_ready", readyAt: noon + timeoutMs - 1 + minute });
        expect(await run.history()).toEqual([]);
        expect(await run.finishBranch(stage.onlooker, "b", { token: "b" })).toMatchObject({ outcome: "finished" });
        expect(await claimRun(run)(stage.onlooker)).toMatchObject({ outcome: "claimed", position: 2 });
      });

      test("is recorded when that claim rolls back", async () => {
        const run = await aRunNearItsTimeout();
        const [, recorded] = await stage.collide({
          first: async (session) => {
            await claim(run)(session);
            await pass();
          },
          second: claimRun(run),
          ends: "rollback",
        });
        expect(recorded).toMatchObject({ outcome: "claimed", position: 1 });
        expect(await run.pending()).toEqual({});
      });

      test("refuses the claim of a branch that waits for its lock", async () => {
        const run = await aRunNearItsTimeout();
        await pass();
        const [recorded, claimed] = await stage.collide({ first: claimRun(run), second: claim(run) });
        expect(recorded).toMatchObject({ outcome: "claimed", position: 1 });
        expect(claimed).toEqual({ outcome: "superseded" });
      });

      test("refuses the claim of a branch that waited for a lock beyond the timeout", async () => {
        const run = await aRunNearItsTimeout();
        const hold = (session: Session) => session.query("select from layover.pending for update");
        const [, claimed] = await stage.collide({ first: hold, second: claim(run), meanwhile: pass });
        expect(claimed).toEqual({ outcome: "superseded" });
      });

      test("is recorded by the claim of the run that waited for a lock beyond the timeout", async () => {
        const run = await aRunNearItsTimeout();
        await run.claimBranch(stage.onlooker, "a", { token: "a" });
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        const hold = (session: Session) => run.signal(session, "unrelated");
        const [, recorded] = await stage.collide({ first: hold, second: claimRun(run), meanwhile: pass });
        expect(recorded).toMatchObject({ outcome: "claimed", position: 2 });
        expect(await run.history()).toEqual(["a", ""]);
      });

      test("supersedes the finish of a branch whose lease is over, and that waits for its lock", async () => {
        const run = await aFanOut(stage, ["a", "b"], { timeoutMs });
        await stage.clock.advance(2 * minute);
        const finish = (session: Session) => run.finishBranch(session, "b", { token: "b" });
        const [recorded, finished] = await stage.collide({ first: claimRun(run), second: finish });
        expect(recorded).toMatchObject({ outcome: "claimed", position: 1 });
        expect(finished).toEqual({ outcome: "superseded" });
      });

      test("comes after the late result of a branch that it waited for", async () => {
        const run = await aFanOut(stage, ["a", "b"], { timeoutMs });
        await stage.clock.advance(2 * minute);
        const finish = (session: Session) => run.finishBranch(session, "b", { token: "b" });
        const [finished, recorded] = await stage.collide({ first: finish, second: claimRun(run) });
        expect(finished).toMatchObject({ outcome: "finished" });
        expect(recorded).toMatchObject({ outcome: "claimed", position: 2 });
        expect(await run.history()).toEqual(["b", ""]);
      });

      test("waits for the renewal of a branch's late lease", async () => {
        const run = await aFanOut(stage, ["a", "b"], { timeoutMs });
        await stage.clock.advance(2 * minute);
        const renew = (session: Session) => run.renew(session, "b", { path: "b" });
        const [renewed, refused] = await stage.collide({ first: renew, second: claimRun(run) });
        expect(renewed).toMatchObject({ outcome: "renewed" });
        expect(refused).toEqual({ outcome: "not_ready", readyAt: noon + 3 * minute });
      });
    });
  },
  { perTest: true },
);
