import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type * as operations from "../../src/postgres/wire-operations.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { aParkedRun, aRun, aRunAtWork, aStart, aWaitFor, minute, noon, Run, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

type Options = Partial<operations.OperationCall> & { readonly namespace?: string; readonly notAfter?: number };

describeSomePostgres(
  "a deletion",
  (database) => {
    const stage = stageOn(database);
    const remove =
      (run: Run, more: Options = {}) =>
      (session: Session) =>
        session.call("delete_run", { runId: run.id, callId: randomUUID(), by: "ada", reason: "a wish", ...more });
    const end = async (run: Run) => {
      await run.finish(stage.onlooker, { token: "first", next: "completed", value: "0null" });
      return run;
    };
    const aRunThatIsOver = async () => await end(await aRunAtWork(stage));
    const start = (run: Run, more: object = {}) => ({ ...aStart(run.id), id: "o1", armed: [soon], ...more });
    /** A run that was started by `start`, and is over. */
    const aStartedRun = async () => {
      const run = new Run(stage, randomUUID());
      await stage.onlooker.call("start_run", start(run));
      await run.claim(stage.onlooker, { token: "first" });
      return await end(run);
    };
    const runs = async () => (await stage.look("select id from layover.run")).map(({ id }) => id);
    const kept = () => stage.look("select run_id, asked_by, reason, deleted_at from layover.deletion");
    const prune = (keepMs: number, keepFailedMs = keepMs) =>
      stage.onlooker.call("prune_runs", { keepMs, keepFailedMs, limit: 10 });

    test("removes a run that is over, and keeps who asked, when and why", async () => {
      const run = await aRunThatIsOver();
      const other = await aRunThatIsOver();
      expect(await remove(run)(stage.onlooker)).toEqual({ outcome: "deleted", runId: run.id });
      expect(await stage.onlooker.call("get_run", { runId: run.id })).toEqual({ outcome: "unknown" });
      expect(await runs()).toEqual([other.id]);
      const deleted = { run_id: run.id, asked_by: "ada", reason: "a wish", deleted_at: new Date(noon) };
      expect(await kept()).toEqual([deleted]);
    });

    test("sent again is answered the same, by whatever call, until what is kept of it is pruned", async () => {
      const run = await aRunThatIsOver();
      const callId = randomUUID();
      const answer = { outcome: "deleted", runId: run.id };
      for (const more of [{ callId }, { callId }, {}]) expect(await remove(run, more)(stage.onlooker)).toEqual(answer);
      expect(await kept()).toHaveLength(1);
      expect(await remove(run, { namespace: "elsewhere" })(stage.onlooker)).toEqual({ outcome: "unknown" });
      await stage.clock.advance(minute);
      await prune(minute + 1, minute);
      expect(await remove(run)(stage.onlooker)).toEqual(answer);
      await prune(minute);
      expect(await remove(run)(stage.onlooker)).toEqual({ outcome: "unknown" });
    });

    test("does not apply to a run that is not over, and the same call is told so also at the run's end", async () => {
      const run = await aParkedRun(stage, [aWaitFor("address")]);
      const callId = randomUUID();
      const answer = { outcome: "not_applicable", runId: run.id, status: "waiting" };
      for (const _ of [1, 2]) expect(await remove(run, { callId })(stage.onlooker)).toEqual(answer);
      await stage.onlooker.call("terminate_run", { runId: run.id, callId: randomUUID() });
      expect(await remove(run, { callId })(stage.onlooker)).toEqual(answer);
      expect(await kept()).toEqual([]);
      expect(await remove(run)(stage.onlooker)).toMatchObject({ outcome: "deleted" });
    });

    test("of many runs, which may ask them to end, also removes one that ends by itself while the deletion waits for it", async () => {
      const run = await aRunAtWork(stage);
      const many = { verb: "delete", cancels: true, filter: { workflow: "flow" }, limit: 10, walk: 100, armed: [soon] };
      const [, told] = await stage.collide({
        first: (session) => run.finish(session, { token: "first", next: "completed", value: "0null" }),
        second: (session) => session.call("operate_runs", many),
      });
      expect(told).toMatchObject({ runs: 1, outcomes: { deleted: 1 }, refused: [] });
      expect(await runs()).toEqual([]);
    });

    test("of a run that was deleted before, and made again, tells who asked last, when and why", async () => {
      const run = await aRunThatIsOver();
      await stage.look(
        "insert into layover.deletion (namespace, run_id, asked_by, reason, deleted_at) values ('default', $1, 'bob', 'an old wish', $2)",
        [run.id, new Date(noon - minute)],
      );
      await remove(run)(stage.onlooker);
      const last = { run_id: run.id, asked_by: "ada", reason: "a wish", deleted_at: new Date(noon) };
      expect(await kept()).toEqual([last]);
    });

    test("of a run that nobody knows is answered so", async () => {
      const run = await aRunThatIsOver();
      const unknown = { outcome: "unknown" };
      expect(await remove(run, { runId: randomUUID() })(stage.onlooker)).toEqual(unknown);
      expect(await remove(run, { namespace: "elsewhere" })(stage.onlooker)).toEqual(unknown);
      expect(await runs()).toEqual([run.id]);
    });

    test("that comes too late changes nothing", async () => {
      const run = await aRunThatIsOver();
      await expect(remove(run, { notAfter: noon - 1 })(stage.onlooker)).rejects.toMatchObject({ code: "LO002" });
      expect(await runs()).toEqual([run.id]);
    });

    test("is pruned oldest first, a bounded number at a time, and none that somebody has locked", async () => {
      for (const minutes of [2, 1, 4, 3])
        await stage.look(
          "insert into layover.deletion (namespace, run_id, asked_by, reason, deleted_at) values ('default', gen_random_uuid(), 'ada', $1, $2)",
          [`${minutes} minutes ago`, new Date(noon - minutes * minute)],
        );
      const left = async () => (await kept()).map(({ reason }) => String(reason)).toSorted();
      const holder = await stage.hold("select from layover.deletion where reason = '4 minutes ago' for update");
      await stage.onlooker.query("set statement_timeout = '5s'");
      await stage.onlooker.call("prune_runs", { keepMs: 0, keepFailedMs: 0, limit: 2 });
      expect(await left()).toEqual(["1 minutes ago", "4 minutes ago"]);
      await holder.commit();
    });

    test("is not pruned before its time, and of each namespace apart", async () => {
      const run = await aRunThatIsOver();
      await remove(run)(stage.onlooker);
      await stage.clock.advance(minute);
      await stage.onlooker.call("prune_runs", { namespace: "other", keepMs: 0, keepFailedMs: 0, limit: 10 });
      await prune(0, minute + 1);
      expect(await kept()).toHaveLength(1);
      await prune(0, minute);
      expect(await kept()).toEqual([]);
    });

    describe("of a run whose start comes late, or again,", () => {
      test("leaves it deleted: the start is answered as before, and makes nothing", async () => {
        const run = await aStartedRun();
        await remove(run)(stage.onlooker);
        for (const more of [{}, { tags: { colour: "red" } }, { encodedInput: '0"other"' }]) {
          expect(await stage.onlooker.call("start_run", start(run, more))).toEqual({
            ...{ outcome: "started", runId: run.id, version: 1, turn: null, isDeleted: true },
            now: noon,
          });
        }
        expect(await runs()).toEqual([]);
        expect(await stage.look("select from layover.tag")).toEqual([]);
      });

      test("leaves it deleted also where the start waits for its lock", async () => {
        const run = await aStartedRun();
        const again = (session: Session) => session.call("start_run", start(run));
        const [, started] = await stage.collide({ first: remove(run), second: again });
        expect(started).toMatchObject({ outcome: "started", runId: run.id, isDeleted: true });
        expect(await runs()).toEqual([]);
      });

      test("leaves it to the start to find the run if it rolls back", async () => {
        const run = await aStartedRun();
        const again = (session: Session) => session.call("start_run", start(run));
        const [, started] = await stage.collide({ first: remove(run), second: again, ends: "rollback" });
        expect(started).toEqual({ outcome: "started", runId: run.id, version: 1, now: noon });
        expect(await runs()).toEqual([run.id]);
      });

      test("frees the user's own id for another run", async () => {
        const run = await aStartedRun();
        await remove(run)(stage.onlooker);
        const next = new Run(stage, randomUUID());
        expect(await stage.onlooker.call("start_run", start(next))).toMatchObject({ outcome: "started", turn: 1 });
        expect(await stage.onlooker.call("start_run", start(run))).toMatchObject({ outcome: "exists", runId: next.id });
      });

      test("takes no id from another namespace", async () => {
        const run = await aStartedRun();
        await remove(run)(stage.onlooker);
        const elsewhere = start(run, { namespace: "elsewhere" });
        expect(await stage.onlooker.call("start_run", elsewhere)).toMatchObject({ outcome: "started", turn: 1 });
      });

      test("tells a signal that had started the run, and comes again, that it was sent", async () => {
        const run = new Run(stage, randomUUID());
        const call = { ...start(run), signalId: randomUUID(), name: "address", encodedPayload: "0" };
        await stage.onlooker.call("signal_with_start", call);
        await run.claim(stage.onlooker, { token: "first" });
        await remove(await end(run))(stage.onlooker);
        const answer = { outcome: "sent", runId: run.id, isNew: true, version: 1, now: noon };
        expect(await stage.onlooker.call("signal_with_start", call)).toEqual(answer);
        expect([await runs(), await stage.look("select from layover.signal")]).toEqual([[], []]);
      });
    });

    test("of a fork leaves it deleted where the call that made it comes again", async () => {
      const run = await aRunThatIsOver();
      const fork = new Run(stage, randomUUID());
      const call = { runId: run.id, newRunId: fork.id, armed: [soon] };
      expect(await stage.onlooker.call("fork_run", call)).toMatchObject({ outcome: "forked", turn: 1 });
      await fork.operate(stage.onlooker, "terminate");
      await remove(fork)(stage.onlooker);
      expect(await stage.onlooker.call("fork_run", call)).toEqual({ outcome: "forked", runId: fork.id });
      expect(await runs()).toEqual([run.id]);
    });

    describe("against another call that waits for its lock", () => {
      const calls: readonly (readonly [name: string, call: (run: Run, session: Session) => Promise<unknown>])[] = [
        ["a signal", (run, session) => run.signal(session, "late")],
        ["an answer", (run, session) => run.answer(session, "approval")],
        ["a claim", (run, session) => run.claim(session, { token: "late" })],
        ["a pause", (run, session) => run.operate(session, "pause")],
      ];

      test.each(calls)("tells %s that there is no such run", async (_, call) => {
        const run = await aRunThatIsOver();
        const [, answer] = await stage.collide({ first: remove(run), second: (session) => call(run, session) });
        expect(answer).toEqual({ outcome: "unknown" });
      });

      test("tells another deletion that the run is deleted", async () => {
        const run = await aRunThatIsOver();
        const [one, other] = await stage.collide({ first: remove(run), second: remove(run) });
        expect(other).toEqual(one);
        expect(await kept()).toHaveLength(1);
      });
    });

    test("does not apply while the run's last finish is not committed, and applies after it", async () => {
      const run = await aRunAtWork(stage);
      const finish = (session: Session) => run.finish(session, { token: "first", next: "completed", value: "0null" });
      const [, deleted] = await stage.collide({ first: finish, second: remove(run) });
      expect(deleted).toMatchObject({ outcome: "deleted" });
      const other = await aRunAtWork(stage);
      const finishOther = (session: Session) =>
        other.finish(session, { token: "first", next: "completed", value: "0null" });
      const [, refused] = await stage.collide({ first: finishOther, second: remove(other), ends: "rollback" });
      expect(refused).toMatchObject({ outcome: "not_applicable", status: "running" });
    });

    test("of a run that is pruned meanwhile is answered that there is no such run", async () => {
      const run = await aRunThatIsOver();
      await stage.clock.advance(minute);
      const pruned = (session: Session) =>
        session.call("prune_runs", { keepMs: minute, keepFailedMs: minute, limit: 1 });
      const [, answer] = await stage.collide({ first: pruned, second: remove(run) });
      expect(answer).toEqual({ outcome: "unknown" });
    });

    test("leaves the epochs of other runs", async () => {
      const [run, other] = [await aRunThatIsOver(), await aRunThatIsOver()];
      for (const { id: runId } of [run, other])
        await stage.onlooker.call("restart_run", { runId, callId: randomUUID(), armed: [soon] });
      await run.operate(stage.onlooker, "terminate");
      expect(await remove(run)(stage.onlooker)).toMatchObject({ outcome: "deleted" });
      expect(await stage.look("select run_id from layover.epoch")).toEqual([{ run_id: other.id }]);
    });

    test("is refused in a transaction that does not see what others commit meanwhile", async () => {
      const run = await aRunThatIsOver();
      const session = await stage.session("blind");
      await session.begin("repeatable read");
      await expect(remove(run)(session)).rejects.toMatchObject({ code: "LO001" });
      await session.rollback();
      expect(await runs()).toEqual([run.id]);
    });

    test("says from psql that it is done, however often it is asked for", async () => {
      const run = await aRunThatIsOver();
      for (const _ of ["first", "again"]) {
        const call = JSON.stringify({ runId: run.id });
        const [row] = await stage.onlooker.query("select layover.delete_run($1) as answer", [call]);
        expect(row?.["answer"]).toEqual({ outcome: "deleted", runId: run.id });
      }
    });

    test("says from psql whether it applies, also by the user's own id", async () => {
      await aRun(stage);
      const { runId: _, ...call } = { ...start(new Run(stage, randomUUID())), namespace: "default" };
      const [row] = await stage.onlooker.query("select layover.start_run($1) as answer", [JSON.stringify(call)]);
      const remove = { workflow: call.workflow, id: "o1" };
      const [answered] = await stage.onlooker.query("select layover.delete_run($1) as answer", [
        JSON.stringify(remove),
      ]);
      expect(row?.["answer"]).toMatchObject({ outcome: "started" });
      expect(answered?.["answer"]).toMatchObject({ outcome: "not_applicable", status: "queued" });
    });
  },
  { perTest: true },
);
