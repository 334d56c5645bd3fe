/** Locks of the pending rows of a run are taken in the order of their paths. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { type Calls, isFreeOn, plan } from "./lock-order.ts";
import { aFanOut, aParkedRun, at, branches, minute, type Run, second, soon, terms, tokenOf } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "locks are taken in one order",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["what is not over, paused or blocked and needs to be looked at has a due instant"],
    });
    const isFree = isFreeOn(stage);

    describe("by path within a run, whatever the order of the items, of the rows or of the plan:", () => {
      const paths = ["race/b", "race/a"] as const;
      const lease = async (run: Run) => {
        for (const path of paths) await run.claimBranch(stage.onlooker, path, { token: path });
      };
      /** The other branch is recorded, and the continuation over it is under way. */
      const aContinuation = async () => {
        const run = await aParkedRun(stage, branches(["other", ...paths]));
        await run.claimBranch(stage.onlooker, "other", { token: "other" });
        await run.finishBranch(stage.onlooker, "other", { token: "other" });
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        return run;
      };
      const calls: Calls = {
        claims: async () => {
          const run = await aParkedRun(stage, branches(paths));
          const turns = paths.map((path) => ({ ...run.toClaim({ token: path }), ...at(path) }));
          return (session: Session) => session.call("claim_turns", { ...terms, turns });
        },
        finishes: async () => {
          const run = await aFanOut(stage, paths);
          const turns = paths.map((path) => run.toFinishBranch(path, { token: path }));
          return (session: Session) => session.call("finish_turns", { turns });
        },
        renewals: async () => {
          const run = await aFanOut(stage, paths);
          const turns = paths.map((path) => ({ runId: run.id, token: tokenOf(path), ...at(path) }));
          return (session: Session) => session.call("renew_leases", { leaseMs: minute, turns });
        },
        "a tick's moves": async () => {
          const run = await aParkedRun(stage, branches(paths));
          const move = { runId: run.id, seenDueAt: soon, dueAt: soon + minute, isDispatched: false };
          return (session: Session) => session.call("move_due", { moves: [{ ...move, branches: paths.map(at) }] });
        },
        "the release of a race's losers": async () => {
          const run = await aContinuation();
          const released = [{ prefix: "race/", position: 1 }];
          return (session: Session) => run.finish(session, { token: "second", position: 1, released });
        },
        "the release of a race's losers by a finish that is deferred": async () => {
          const run = await aContinuation();
          const released = [{ prefix: "race/", position: 0 }];
          return (session: Session) => run.finish(session, { token: "second", position: 0, released });
        },
        "the end of the run": async () => {
          const run = await aContinuation();
          const end = { token: "second", position: 1, next: "completed", value: "0null" } as const;
          return (session: Session) => run.finish(session, end);
        },
        "the end of a history that continues as new": async () => {
          const run = await aContinuation();
          const lap = { token: "second", position: 1, next: "ready", continues: "0{}" } as const;
          return (session: Session) => run.finish(session, lap);
        },
        "a restart": async () => {
          const run = await aParkedRun(stage, branches(paths));
          await run.operate(stage.onlooker, "pause");
          return (session: Session) => session.call("restart_run", { runId: run.id, armed: [soon] });
        },
        "the end of the run, with a race decided by it": async () => {
          const run = await aContinuation();
          const end = { token: "second", position: 1, next: "completed", value: "0null" } as const;
          const released = [{ prefix: "race/b", position: 1 }];
          return (session: Session) => run.finish(session, { ...end, released });
        },
        "the finish of the run together with that of a branch of it": async () => {
          const run = await aContinuation();
          await run.claimBranch(stage.onlooker, "race/a", { token: "a" });
          const released = [{ prefix: "race/b", position: 1 }];
          const turns = [
            run.toFinish({ token: "second", position: 1, released }),
            run.toFinishBranch("race/a", { token: "a" }),
          ];
          return (session: Session) => session.call("finish_turns", { turns });
        },
        "the finish of the run together with that of a branch of it, done again item by item": async () => {
          const run = await aContinuation();
          await run.claimBranch(stage.onlooker, "race/a", { token: "a" });
          const released = [{ prefix: "race/b", position: 1 }];
          const turns = [
            { ...run.toFinish({ token: "bad" }), runId: "00000000-0000-0000-0000-000000000000", position: "bad" },
            run.toFinish({ token: "second", position: 1, released }),
            run.toFinishBranch("race/a", { token: "a" }),
          ];
          return (session: Session) => session.call("finish_turns", { turns });
        },
        "the timeout of the run": async () => {
          const run = await aParkedRun(stage, branches(paths), { timeoutMs: second });
          await stage.clock.advance(second);
          return (session: Session) => run.claim(session, { token: "second", turn: 2 });
        },
        "the claim that voids what losers hold": async () => {
          const run = await aContinuation();
          await lease(run);
          await run.finish(stage.onlooker, {
            token: "second",
            position: 1,
            released: [{ prefix: "race/", position: 1 }],
          });
          await stage.clock.advance(2 * minute);
          await stage.onlooker.query("update layover.run_state set ready_at = layover.now()");
          return (session: Session) => run.claim(session, { token: "third", turn: 3 });
        },
        "the claim that voids what losers hold, after a lease of the run that was lost": async () => {
          const run = await aContinuation();
          await lease(run);
          const released = [{ prefix: "race/", position: 1 }];
          await run.finish(stage.onlooker, { token: "second", position: 1, released });
          await stage.onlooker.query("update layover.run_state set ready_at = layover.now()");
          await run.claim(stage.onlooker, { token: "third", turn: 3 });
          await stage.clock.advance(2 * minute);
          return (session: Session) => run.claim(session, { token: "again", turn: 3 });
        },
        "the claim that voids what a loser holds, together with that of a branch": async () => {
          const run = await aContinuation();
          await run.claimBranch(stage.onlooker, "race/b", { token: "b" });
          const released = [{ prefix: "race/b", position: 1 }];
          await run.finish(stage.onlooker, { token: "second", position: 1, released });
          await stage.clock.advance(2 * minute);
          await stage.onlooker.query("update layover.run_state set ready_at = layover.now()");
          const turns = [run.toClaim({ token: "third", turn: 3 }), { ...run.toClaim({ token: "a" }), ...at("race/a") }];
          return (session: Session) => session.call("claim_turns", { ...terms, turns });
        },
      };

      test.each(Object.entries(calls))("%s", async (_, arrange) => {
        const call = await arrange();
        await stage.onlooker.query("update layover.pending set turn = turn where path = 'race/a'"); // behind the other one
        let wasFree = false;
        await stage.collide({
          first: (session) => session.query("select from layover.pending where path = 'race/a' for update"),
          second: async (session) => {
            await plan(session, ["enable_indexscan = off", "enable_bitmapscan = off"]);
            return await call(session);
          },
          meanwhile: async () => {
            wasFree = await isFree("from layover.pending where path = 'race/b'");
          },
        });
        expect(wasFree).toBe(true);
      });
    });
  },
  { perTest: true },
);
