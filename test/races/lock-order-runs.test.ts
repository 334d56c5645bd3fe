/** Locks of several runs are taken in the order of their ids, also those of runs that wait for one another. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { type Calls, isFreeOn, plan } from "./lock-order.ts";
import { aRun, aRunAtWork, at, aWaitFor, minute, Run, soon, terms, tokenOf } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const first = "00000000-0000-7000-8000-000000000001";
const ids = ["00000000-0000-7000-8000-00000000000a", "00000000-0000-7000-8000-00000000000b"] as const;

describeSomePostgres(
  "locks are taken in one order",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["what is not over, paused or blocked and needs to be looked at has a due instant"],
    });
    const isFree = isFreeOn(stage);

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
      /** A run that has failed. An earlier one waits for it, and has not taken that. */
      const aFailedChild = async (childId: string) => {
        await aParent({ runId: ids[0], childId });
        const child = new Run(stage, childId);
        await child.claim(stage.onlooker, { token: "child" });
        await child.finish(stage.onlooker, { token: "child", next: "failed", value: "0null" });
        return child;
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
        "a step of a run that is about to ask a later one to end, with a finish between them": async () => {
          const parent = await aParent({ runId: first, childId: ids[1] });
          // A deferred finish has lost a race.
          await stage.onlooker.query("update layover.pending set is_released = true where run_id = $1", [parent.id]);
          const between = await aRunAtWork(stage, { runId: ids[0] });
          const turns = [
            parent.toFinish({ token: "second", next: "ready" }),
            between.toFinish({ token: "first", next: "ready" }),
          ];
          return (session: Session) => session.call("finish_turns", { ...terms, turns });
        },
        "the block of a run for which a later one waits, with a finish between them": async () => {
          const child = new Run(stage, first);
          await aParent({ childId: first });
          await child.claim(stage.onlooker, { token: "child" });
          const between = await aRunAtWork(stage, { runId: ids[0] });
          const turns = [
            child.toFinish({ token: "child", next: "blocked", value: "no such step" }),
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
        "the cancel of a run that waits for another one": async () => {
          const parent = await aParent();
          return (session: Session) => session.call("cancel_run", { runId: parent.id, armed: [soon] });
        },
        "a cancel of many, with the runs that they wait for": async () => {
          await aParent();
          const filter = { workflow: "flow", createdBefore: soon + minute };
          return (session: Session) => session.call("operate_runs", { verb: "cancel", filter, armed: [soon] });
        },
        "the restart of a run that waits for another one": async () => {
          const parent = await aParent();
          await parent.finish(stage.onlooker, { token: "second" });
          await stage.onlooker.call("pause_run", { runId: parent.id });
          return (session: Session) => session.call("restart_run", { runId: parent.id, armed: [soon] });
        },
        "the retry of a run for which an earlier one waits": async () => {
          const child = await aFailedChild(ids[1]);
          return (session: Session) => session.call("retry_run", { runId: child.id, armed: [soon] });
        },
        "a retry of many, with an earlier one that waits for the last of them": async () => {
          const between = await aRunAtWork(stage, { runId: ids[1] });
          await between.finish(stage.onlooker, { token: "first", next: "failed", value: "0null" });
          await aFailedChild("00000000-0000-7000-8000-00000000000c");
          const filter = { workflow: "flow", createdBefore: soon + minute };
          return (session: Session) => session.call("operate_runs", { verb: "retry", filter, armed: [soon] });
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

    test("by run id, where one run of a set has moved since the call looked at it", async () => {
      const runs = [];
      for (const runId of [first, ...ids]) runs.push(await aRunAtWork(stage, { runId }));
      const [plain, alone] = [
        { token: "first", next: "ready" } as const,
        { token: "first", demands: [aWaitFor("go")] },
      ];
      const turns = runs.map((run) => run.toFinish(run.id === first ? alone : plain));
      const holdRun = (runId: string) =>
        stage.hold("select from layover.run_state where run_id = $1 for update", [runId]);
      const [holder, finishing] = [await holdRun(first), await stage.session("finishing")];
      const told = finishing.call("finish_turns", { ...terms, turns });
      await finishing.untilBlocked(holder);
      await runs[1]?.signal(stage.onlooker, "address");
      const holderOfMoved = await holdRun(ids[0]);
      await holder.commit();
      await finishing.untilBlocked(holderOfMoved);
      expect(await isFree(`from layover.run_state where run_id = '${ids[1]}'`)).toBe(true);
      await holderOfMoved.commit();
      expect((await told).turns).toMatchObject(runs.map(() => ({ outcome: "finished" })));
    });
  },
  { perTest: true },
);
