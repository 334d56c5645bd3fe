import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRun, aRunAtWork, aStart, minute, type Run } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "the pruning of a run that is over",
  (database) => {
    const stage = stageOn(database);
    const anOldRun = async () => {
      const run = await aRunAtWork(stage);
      await run.finish(stage.onlooker, { token: "first", next: "completed", value: "0null" });
      await stage.clock.advance(minute);
      return run;
    };
    const prune = async (session: Session) =>
      (await session.call("prune_runs", { keepMs: minute, keepFailedMs: minute, limit: 10 })).pruned;

    const readers = [
      ["get_run", (run: Run) => ({ runId: run.id }), { outcome: "unknown" }],
      ["list_runs", () => ({ limit: 10 }), { runs: [], next: null }],
      ["get_history", (run: Run) => ({ runId: run.id }), { outcome: "unknown" }],
    ] as const;

    test.each(readers)("leaves no half of it to %s, which found it before", async (name, key, answer) => {
      const run = await anOldRun();
      // Whoever describes the run reads its tags, and the history its failed attempts: after it was found.
      const pruner = await stage.gate("layover.tag", "access exclusive");
      await pruner.query("lock table layover.attempt in access exclusive mode");
      const reader = await stage.session("reader");
      const read = reader.call(name, key(run));
      await reader.untilBlocked(pruner);
      expect(await prune(pruner)).toBe(1);
      await pruner.commit();
      expect(await read).toEqual(answer);
    });

    test("is not waited for by those who read: they see the run until it is committed", async () => {
      const run = await anOldRun();
      const pruner = await stage.session("pruner");
      await pruner.begin();
      expect(await prune(pruner)).toBe(1);
      expect(await stage.onlooker.call("get_run", { runId: run.id })).toMatchObject({ status: "completed" });
      expect(await stage.onlooker.call("list_runs", { limit: 10 })).toMatchObject({ runs: [{ status: "completed" }] });
      await pruner.commit();
      expect(await stage.onlooker.call("get_run", { runId: run.id })).toEqual({ outcome: "unknown" });
    });

    test("passes over a run that somebody has locked", async () => {
      const run = await anOldRun();
      const other = await anOldRun();
      const sender = await stage.session("sender");
      await sender.begin();
      expect(await run.signal(sender, "late")).toMatchObject({ outcome: "over" });
      expect(await prune(stage.onlooker)).toBe(1);
      await sender.commit();
      expect(await run.state()).toMatchObject({ status: "completed" });
      expect(await other.state()).toEqual({});
    });

    test.each(["commit", "rollback"] as const)("by two at once removes it once (%s)", async (ends) => {
      await anOldRun();
      const [one, other] = [await stage.session("one"), await stage.session("other")];
      await one.begin();
      expect(await prune(one)).toBe(1);
      expect(await prune(other)).toBe(0);
      await one.end(ends);
      expect(await prune(other)).toBe(ends === "commit" ? 0 : 1);
    });

    describe("against calls that wait for its lock", () => {
      const calls: readonly (readonly [name: string, call: (run: Run, session: Session) => Promise<unknown>])[] = [
        ["a signal", (run, session) => run.signal(session, "late")],
        ["an answer", (run, session) => run.answer(session, "approval")],
        ["a claim", (run, session) => run.claim(session, { token: "late" })],
        ["a branch's finish", (run, session) => run.finishBranch(session, "a", { token: "late" })],
      ];

      test.each(calls)("tells %s that there is no such run", async (_, call) => {
        const run = await anOldRun();
        const [pruned, answer] = await stage.collide({ first: prune, second: (session) => call(run, session) });
        expect(pruned).toBe(1);
        expect(answer).toEqual({ outcome: "unknown" });
        expect(await stage.look("select from layover.signal")).toEqual([]);
      });
    });

    describe("against a start with the same user id", () => {
      const anOldRunNamed = async () => {
        const runId = randomUUID();
        await stage.onlooker.call("start_run", { ...aStart(runId), id: "o1" });
        await stage.onlooker.query(
          "update layover.run_state set status = 'completed', ended_at = layover.now(), ready_at = null, due_at = null",
        );
        await stage.clock.advance(minute);
        return runId;
      };
      const start = (session: Session) => session.call("start_run", { ...aStart(), id: "o1" });

      test("lets the start through that waits for its lock", async () => {
        await anOldRunNamed();
        const [, started] = await stage.collide({ first: prune, second: start });
        expect(started).toMatchObject({ outcome: "started" });
      });

      test("leaves the run to stand for the one asked for when it rolls back", async () => {
        const runId = await anOldRunNamed();
        const [, started] = await stage.collide({ first: prune, second: start, ends: "rollback" });
        expect(started).toMatchObject({ outcome: "exists", runId });
      });

      test("lets the start through that has found the id taken, and looks by whom", async () => {
        await anOldRunNamed();
        await stage.look("create table door as select 1 as one");
        await stage.look(`create function pass_the_door() returns trigger language plpgsql as $$ begin
          perform from public.door for share; return null; end $$`);
        await stage.look(`create trigger found_taken after insert on layover.run
          for each statement execute function public.pass_the_door()`);
        const pruner = await stage.session("pruner");
        await pruner.begin();
        await pruner.query("select from door for update");
        const starter = await stage.session("starter");
        const started = start(starter);
        await starter.untilBlocked(pruner);
        expect(await prune(pruner)).toBe(1);
        await pruner.commit();
        expect(await started).toMatchObject({ outcome: "started" });
      });
    });

    test("never takes a run that is not over", async () => {
      const run = await aRun(stage);
      await stage.clock.advance(100 * minute);
      expect(await prune(stage.onlooker)).toBe(0);
      expect(await run.state()).toMatchObject({ status: "parked" });
    });
  },
  { perTest: true },
);
