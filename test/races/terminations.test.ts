import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type * as operations from "../../src/postgres/wire-operations.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { locksByPath } from "./lock-order.ts";
import { aFanOut, aMap, aParkedRun, aRecord, aRun, aRunAtWork, aWaitFor, branches, noon, type Run } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

type Options = Partial<operations.OperationCall> & { readonly notAfter?: number };

describeSomePostgres(
  "a termination",
  (database) => {
    const stage = stageOn(database);
    const by = (session: Session, run: Run, more: Options = {}) =>
      session.call("terminate_run", { runId: run.id, callId: randomUUID(), by: "ada", reason: "a test", ...more });
    const terminate = (run: Run, more?: Options) => by(stage.onlooker, run, more);
    const finish = (run: Run) => (session: Session) =>
      run.finish(session, { token: "first", next: "ready", records: [aRecord("step", "a")] });

    describe("of a run", () => {
      test("ends it as cancelled, and says who asked and why", async () => {
        const run = await aRun(stage);
        expect(await terminate(run)).toEqual({ outcome: "terminated", runId: run.id });
        expect(await run.state()).toMatchObject({ status: "cancelled", dueAt: null, readyAt: null });
        const view = await stage.onlooker.call("get_run", { runId: run.id });
        expect(view).toMatchObject({
          status: "cancelled",
          endedAt: noon,
          error: '0{"name": "CancelledError", "message": "terminated by ada: a test"}',
        });
      });

      test.each([
        [{ by: "ada" }, "terminated by ada"],
        [{ reason: 'the "test"' }, 'terminated: the "test"'],
        [{}, "terminated"],
      ])("by %j says %j", async (more, message) => {
        const run = await aRun(stage);
        await stage.onlooker.call("terminate_run", { runId: run.id, callId: randomUUID(), ...more });
        const view = await stage.onlooker.call("get_run", { runId: run.id });
        const error = "error" in view ? String(view.error) : "";
        expect(JSON.parse(error.slice(1))).toEqual({ name: "CancelledError", message });
      });

      test("leaves nothing of what it waited for", async () => {
        const run = await aMap(stage, ["a", "b", "c"], { slots: 2 });
        await terminate(run);
        expect(await run.pending()).toEqual({});
        expect(await stage.look("select from layover.map where run_id = $1", [run.id])).toEqual([]);
      });

      test("voids the lease of its turn: a finish or renewal that comes later is superseded", async () => {
        const run = await aRunAtWork(stage);
        await terminate(run);
        expect(await run.renew(stage.onlooker, "first")).toEqual({ outcome: "superseded" });
        expect(await finish(run)(stage.onlooker)).toEqual({ outcome: "superseded" });
        expect(await run.claim(stage.onlooker, { token: "second" })).toEqual({ outcome: "over", status: "cancelled" });
        expect(await run.history()).toEqual([]);
      });

      test("voids the leases of its branches", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await terminate(run);
        expect(await run.renew(stage.onlooker, "a", { path: "a" })).toEqual({ outcome: "superseded" });
        expect(await run.finishBranch(stage.onlooker, "b", { token: "b" })).toEqual({ outcome: "superseded" });
        expect(await run.history()).toEqual([]);
      });

      test.each([
        ["went on", { next: "ready" }],
        ["waits", { next: "parked", demands: [aWaitFor("address")] }],
      ] as const)("leaves its last finish, that comes again, what it was told: the run %s", async (_, more) => {
        const run = await aRunAtWork(stage);
        const last = () => run.finish(stage.onlooker, { token: "first", ...more });
        const told = await last();
        expect(told).toMatchObject({ outcome: "finished", status: "parked" });
        await terminate(run);
        expect(await last()).toEqual(told);
      });

      test("locks its branches by path, whatever their order", async () => {
        expect(await locksByPath(stage, (run, session) => by(session, run))).toBe(true);
      });

      test("takes no signal any more", async () => {
        const run = await aParkedRun(stage, [aWaitFor("address")]);
        await terminate(run);
        expect(await run.signal(stage.onlooker, "address")).toMatchObject({ outcome: "over", status: "cancelled" });
      });

      test("that is blocked or paused ends it too", async () => {
        const blocked = await aRunAtWork(stage);
        await blocked.finish(stage.onlooker, { token: "first", next: "blocked", value: "0no" });
        const paused = await aRun(stage);
        await stage.onlooker.call("pause_run", { runId: paused.id, callId: randomUUID() });
        for (const run of [blocked, paused]) {
          expect(await terminate(run)).toMatchObject({ outcome: "terminated" });
          expect(await run.state()).toMatchObject({ status: "cancelled", blocked: null });
        }
      });

      test("that is over is refused, and changes nothing", async () => {
        const run = await aRunAtWork(stage);
        await run.finish(stage.onlooker, { token: "first", next: "completed", value: "0true" });
        expect(await terminate(run)).toEqual({ outcome: "not_applicable", runId: run.id, status: "completed" });
        expect(await run.state()).toMatchObject({ status: "completed", result: "0true" });
      });

      test("that comes twice is told the same", async () => {
        const run = await aRun(stage);
        const callId = randomUUID();
        const told = await terminate(run, { callId });
        expect(await terminate(run, { callId })).toEqual(told);
        expect(await terminate(run)).toMatchObject({ outcome: "not_applicable", status: "cancelled" });
      });

      test("that comes too late has no effect", async () => {
        const run = await aRun(stage);
        await expect(terminate(run, { notAfter: noon - 1 })).rejects.toMatchObject({ code: "LO002" });
        expect(await run.state()).toMatchObject({ status: "parked" });
      });

      test("that is not there is unknown", async () => {
        const run = await aRun(stage);
        expect(await terminate(run, { runId: randomUUID() })).toEqual({ outcome: "unknown" });
      });
    });

    describe("against a finish", () => {
      test("that it waited for ends the run after it, and the record stays", async () => {
        const run = await aRunAtWork(stage);
        const [finished, told] = await stage.collide({ first: finish(run), second: (session) => by(session, run) });
        expect([finished, told]).toMatchObject([{ outcome: "finished" }, { outcome: "terminated" }]);
        expect(await run.history()).toEqual(["a"]);
      });

      test("that waits for it supersedes the finish", async () => {
        const run = await aRunAtWork(stage);
        const [, finished] = await stage.collide({ first: (session) => by(session, run), second: finish(run) });
        expect(finished).toEqual({ outcome: "superseded" });
        expect(await run.history()).toEqual([]);
      });

      test("that completes the run first comes too late", async () => {
        const run = await aRunAtWork(stage);
        const complete = (session: Session) =>
          run.finish(session, { token: "first", next: "completed", value: "0true" });
        const [, told] = await stage.collide({ first: complete, second: (session) => by(session, run) });
        expect(told).toMatchObject({ outcome: "not_applicable", status: "completed" });
      });
    });

    describe("against the claim of a branch", () => {
      const claim = (run: Run) => (session: Session) => run.claimBranch(session, "b", { token: "b" });

      test("refuses the claim that waits for its lock", async () => {
        const run = await aParkedRun(stage, branches(["a", "b"]));
        const [, claimed] = await stage.collide({ first: (session) => by(session, run), second: claim(run) });
        expect(claimed).toEqual({ outcome: "superseded" });
      });

      test("deletes the row whose claim it waited for", async () => {
        const run = await aParkedRun(stage, branches(["a", "b"]));
        const [claimed, told] = await stage.collide({ first: claim(run), second: (session) => by(session, run) });
        expect([claimed, told]).toMatchObject([{ outcome: "claimed" }, { outcome: "terminated" }]);
        expect(await run.finishBranch(stage.onlooker, "b", { token: "b" })).toEqual({ outcome: "superseded" });
      });
    });
  },
  { perTest: true },
);
