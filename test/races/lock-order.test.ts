import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aFanOut,
  aParkedRun,
  aRun,
  aRunAtWork,
  at,
  branches,
  minute,
  Run,
  second,
  soon,
  terms,
  tokenOf,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

/**
 * The one order of locks: runs by id; within a run its own row, then its pending rows by path. Each test holds the
 * first row, lets a call run into it that needs the second one too, and finds that the call has not locked that yet.
 */
type Calls = Readonly<Record<string, () => Promise<(session: Session) => Promise<unknown>>>>;

const first = "00000000-0000-7000-8000-000000000001";
const ids = ["00000000-0000-7000-8000-00000000000a", "00000000-0000-7000-8000-00000000000b"] as const;

describeSomePostgres(
  "locks are taken in one order",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["what is not over, paused or blocked and needs to be looked at has a due instant"],
    });
    const isFree = async (row: string) => (await stage.look(`select ${row} for update skip locked`)).length === 1;

    /** As the planner might choose, for all that it knows of the tables. */
    const plan = async (session: Session, settings: readonly string[]) => {
      for (const setting of settings) await session.query(`set ${setting}`);
    };

    describe("by run id, whatever the order of the items, of the rows or of the plan:", () => {
      const holdTheFirst = (session: Session) =>
        session.query("select from layover.run_state where run_id = $1 for update", [ids[0]]);
      const isTheSecondFree = () => isFree(`from layover.run_state where run_id = '${ids[1]}'`);
      const both = async (make: (runId: string) => Promise<Run>): Promise<readonly Run[]> => [
        await make(ids[1]),
        await make(ids[0]),
      ];
      const calls: Calls = {
        claims: async () => {
          const runs = await both((runId) => aRun(stage, { runId }));
          const turns = runs.map((run) => run.toClaim({ token: run.id }));
          return (session: Session) => session.call("claim_turns", { ...terms, turns });
        },
        finishes: async () => {
          const runs = await both((runId) => aRunAtWork(stage, { runId }));
          const turns = runs.map((run) => run.toFinish({ token: "first", next: "ready" }));
          return (session: Session) => session.call("finish_turns", { turns });
        },
        "voided leases": async () => {
          await both((runId) => aRunAtWork(stage, { runId }));
          return (session: Session) => session.call("void_leases", {});
        },
        renewals: async () => {
          const runs = await both((runId) => aRunAtWork(stage, { runId }));
          const turns = runs.map(({ id }) => ({ runId: id, token: tokenOf("first") }));
          return (session: Session) => session.call("renew_leases", { leaseMs: minute, turns });
        },
        moves: async () => {
          const runs = await both((runId) => aRun(stage, { runId }));
          const moves = runs.map(({ id }) => ({ runId: id, seenDueAt: soon, dueAt: soon + minute, branches: [] }));
          return (session: Session) => session.call("move_due", { moves });
        },
      };

      /** A run that waits for another one, and is at its second turn. */
      const aParent = async ({ runId = ids[1], childId = ids[0] }: { runId?: string; childId?: string } = {}) => {
        const parent = await aRunAtWork(stage, { runId });
        const child = { ...at("part"), demandedAfter: 0, ordinal: 1, runId: childId, isBound: true } as const;
        const children = [{ ...child, workflow: "flow", version: 1, input: "0{}" }];
        await parent.finish(stage.onlooker, { token: "first", next: "ready", children });
        await parent.claim(stage.onlooker, { turn: 2, token: "second" });
        return parent;
      };
      const families: Calls = {
        "the end of a run and of the one that it waits for": async () => {
          const parent = await aParent();
          return (session: Session) => parent.finish(session, { token: "second", next: "completed", value: "0" });
        },
        "such an end among others": async () => {
          const parent = await aParent();
          const other = await aRunAtWork(stage);
          const turns = [
            other.toFinish({ token: "first", next: "ready" }),
            parent.toFinish({ token: "second", next: "completed", value: "0" }),
          ];
          return (session: Session) => session.call("finish_turns", { ...terms, turns });
        },
        "the end of a run for which a later one waits, with a finish between them": async () => {
          const child = new Run(stage, first);
          await aParent({ childId: first });
          await child.claim(stage.onlooker, { token: "child" });
          const between = await aRunAtWork(stage, { runId: ids[0] });
          const turns = [
            child.toFinish({ token: "child", next: "completed", value: "0" }),
            between.toFinish({ token: "first", next: "ready" }),
          ];
          return (session: Session) => session.call("finish_turns", { ...terms, turns });
        },
        "the end of a run that waits for a later one, with a finish between them": async () => {
          const parent = await aParent({ runId: first, childId: ids[1] });
          const between = await aRunAtWork(stage, { runId: ids[0] });
          const turns = [
            parent.toFinish({ token: "second", next: "completed", value: "0" }),
            between.toFinish({ token: "first", next: "ready" }),
          ];
          return (session: Session) => session.call("finish_turns", { ...terms, turns });
        },
        "the closing of a run that waits for another one": async () => {
          const parent = await aParent();
          return (session: Session) => parent.finish(session, { token: "second", next: "ready", closing: true });
        },
        "the terminate of a run that waits for another one": async () => {
          const parent = await aParent();
          return (session: Session) => session.call("terminate_run", { runId: parent.id });
        },
        "the restart of a run that waits for another one": async () => {
          const parent = await aParent();
          await parent.finish(stage.onlooker, { token: "second" });
          await stage.onlooker.call("pause_run", { runId: parent.id });
          return (session: Session) => session.call("restart_run", { runId: parent.id, armed: [soon] });
        },
        "a terminate of many, with the runs that they wait for": async () => {
          await aParent();
          const filter = { workflow: "flow", createdBefore: soon + minute };
          return (session: Session) => session.call("operate_runs", { verb: "terminate", filter });
        },
      };

      const plans = {
        ", by the index": ["enable_indexscan = on"],
        ", by hashing": ["enable_indexscan = off", "enable_bitmapscan = off", "enable_nestloop = off"],
        ", by bitmaps": ["enable_indexscan = off", "enable_seqscan = off", "enable_hashjoin = off"],
      };
      const all = Object.entries({ ...calls, ...families }).flatMap(([name, arrange]) =>
        Object.entries(plans).map(([how, settings]) => [name + how, arrange, settings] as const),
      );

      test.each(all)("%s", async (_, arrange, settings) => {
        const call = await arrange();
        await stage.onlooker.query(`update layover.run_state set turn = turn where run_id = '${ids[0]}'`); // behind the other one
        let wasFree = false;
        await stage.collide({
          first: holdTheFirst,
          second: async (session) => {
            await plan(session, settings);
            return await call(session);
          },
          meanwhile: async () => {
            wasFree = await isTheSecondFree();
          },
        });
        expect(wasFree).toBe(true);
      });
    });

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

    describe("on the run before its pending rows, also by those who may not need the run:", () => {
      const calls: Calls = {
        "the finish of a branch": async () => {
          const run = await aFanOut(stage, ["a"]);
          return (session) => run.finishBranch(session, "a", { token: "a" });
        },
        "the lone claim of a branch": async () => {
          const run = await aParkedRun(stage, branches(["a"]));
          return (session) => run.claimBranch(session, "a", { token: "a", alone: true });
        },
        "a tick's move": async () => {
          const run = await aParkedRun(stage, branches(["a"]));
          const move = { runId: run.id, seenDueAt: soon, dueAt: soon + minute, branches: [at("a")] };
          return (session) => session.call("move_due", { moves: [move] });
        },
      };

      test.each(Object.entries(calls))("%s", async (_, arrange) => {
        const call = await arrange();
        let wasFree = false;
        await stage.collide({
          first: (session) => session.query("select from layover.run_state for update"),
          second: call,
          meanwhile: async () => {
            wasFree = await isFree("from layover.pending where path = 'a'");
          },
        });
        expect(wasFree).toBe(true);
      });
    });

    describe("and not taken at all:", () => {
      test("on branches that are recorded, by a claim that comes late", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await stage.hold("select from layover.pending where path = 'a' for update");
        const late = await run.claimBranch(stage.onlooker, "a", { token: "late" });
        expect(late).toEqual({ outcome: "superseded" });
      });

      test("by those who only read", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        const holder = await stage.hold("update layover.run_state set turn = turn");
        await holder.query("update layover.pending set turn = turn");
        const { onlooker } = stage;
        expect(await onlooker.call("get_run", { runId: run.id })).toMatchObject({ runId: run.id });
        expect(await onlooker.call("get_history", { runId: run.id })).toMatchObject({ runId: run.id });
        expect(await onlooker.call("list_runs", { limit: 10 })).toHaveProperty("runs.length", 1);
        await stage.clock.set(soon);
        const due = await onlooker.call("list_due", { versions: terms.versions, limit: 10 });
        expect(due).toHaveProperty("runs.length", 1);
      });
    });
  },
  { perTest: true },
);
