/** A pause of a run: no turn of it begins, and whatever is at work or comes is kept. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { locksByPath } from "./lock-order.ts";
import { pausesOn } from "./pausing.ts";
import { aParkedRun, aRecord, aRun, aRunAtWork, aWaitFor, branches, minute, noon, type Run, second } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a pause",
  (database) => {
    const stage = stageOn(database);
    const { pause, resume, timeoutOf } = pausesOn(stage);
    const operationsOf = (run: Run) =>
      stage.look("select verb, asked_by, reason, verdict from layover.operation where run_id = $1 order by asked_at", [
        run.id,
      ]);

    describe.each(["pause", "resume", "terminate"] as const)("and a %s", (verb) => {
      const arrange = async (run: Run) => {
        if (verb === "resume") await pause(run);
      };

      test("that comes twice at once is told the same, and is kept once", async () => {
        const run = await aRun(stage);
        await arrange(run);
        const before = (await operationsOf(run)).length;
        const callId = randomUUID();
        const call = (session: Session) => run.operate(session, verb, { callId });
        const [told, again] = await stage.collide({ first: call, second: call });
        expect(told).toMatchObject(again);
        expect(await operationsOf(run)).toHaveLength(before + 1);
      });

      test("locks the branches by path, whatever their order", async () => {
        const call = (run: Run, session: Session) => run.operate(session, verb);
        expect(await locksByPath(stage, call, arrange)).toBe(true);
      });
    });

    describe("of a run", () => {
      test("lets no turn of it begin, and nobody looks at it", async () => {
        const run = await aRun(stage);
        expect(await pause(run)).toEqual({ outcome: "paused", runId: run.id });
        expect(await run.claim(stage.onlooker, { token: "first" })).toEqual({ outcome: "paused" });
        expect(await run.state()).toMatchObject({ status: "parked", dueAt: null });
      });

      test("lets the turn that is under way finish, and keeps its record", async () => {
        const run = await aRunAtWork(stage);
        await pause(run);
        const finish = {
          token: "first",
          next: "ready" as const,
          records: [aRecord("step", "a")],
          claim: { turn: 2, token: "second" },
        };
        expect(await run.finish(stage.onlooker, finish)).toMatchObject({ outcome: "finished" });
        expect(await run.state()).toMatchObject({ status: "parked", token: null, turn: 2, dueAt: null });
        expect(await run.history()).toEqual(["a"]);
      });

      test("lets the turn that is under way end the run", async () => {
        const run = await aRunAtWork(stage);
        await pause(run);
        await run.finish(stage.onlooker, { token: "first", next: "completed", value: "0true" });
        expect(await run.state()).toMatchObject({ status: "completed" });
        expect(await resume(run)).toMatchObject({ outcome: "not_applicable", status: "completed" });
      });

      test("keeps a signal that comes, and the run has it once it goes on", async () => {
        const run = await aParkedRun(stage, [aWaitFor("address")]);
        await pause(run);
        expect(await run.signal(stage.onlooker, "address")).toMatchObject({ outcome: "sent", turn: null });
        expect(await run.state()).toMatchObject({ dueAt: null });
        expect(await resume(run)).toMatchObject({ outcome: "resumed", turn: 2 });
        expect(await run.claim(stage.onlooker, { turn: 2, token: "second" })).toMatchObject({
          outcome: "claimed",
          signals: [{ name: "address" }],
        });
      });

      test("is kept with who asked, why, and what became of it", async () => {
        const run = await aRun(stage);
        await pause(run);
        await resume(run, { by: "bob", reason: "their API is up" });
        await resume(run);
        expect(await operationsOf(run)).toMatchObject([
          { verb: "pause", asked_by: "ada", reason: "to see" },
          { verb: "resume", asked_by: "bob", reason: "their API is up" },
          { verb: "resume", asked_by: "ada" },
        ]);
      });

      test.each(["completed", "failed", "cancelled"] as const)("that is %s is refused", async (next) => {
        const run = await aRunAtWork(stage);
        await run.finish(stage.onlooker, { token: "first", next, value: "0{}" });
        expect(await pause(run)).toEqual({ outcome: "not_applicable", runId: run.id, status: next });
      });

      test("that cleans up after its timeout is refused", async () => {
        const run = await aRun(stage, { timeoutMs: second });
        await stage.clock.set(noon + 2 * second);
        expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ outcome: "claimed" });
        expect(await pause(run)).toEqual({ outcome: "not_applicable", runId: run.id, status: "cancelling" });
      });

      test("that is not there, or is another namespace's, is unknown", async () => {
        const run = await aRun(stage);
        expect(await pause(run, { runId: randomUUID() })).toEqual({ outcome: "unknown" });
        expect(await pause(run, { namespace: "other" })).toEqual({ outcome: "unknown" });
        expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ outcome: "claimed" });
      });

      test("that comes too late has no effect", async () => {
        const run = await aRun(stage);
        await expect(pause(run, { notAfter: noon - 1 })).rejects.toMatchObject({ code: "LO002" });
        await expect(resume(run, { notAfter: noon - 1 })).rejects.toMatchObject({ code: "LO002" });
        expect(await operationsOf(run)).toEqual([]);
      });

      test("that comes twice does nothing the second time, not even after a resume", async () => {
        const run = await aRun(stage);
        const callId = randomUUID();
        await pause(run, { callId });
        await resume(run);
        expect(await pause(run, { callId })).toEqual({ outcome: "paused", runId: run.id, turn: 1 });
        expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ outcome: "claimed" });
        expect(await operationsOf(run)).toHaveLength(2);
      });

      test("stands when another one comes, since when it stood before", async () => {
        const run = await aRun(stage, { timeoutMs: 10 * minute });
        await pause(run);
        await stage.clock.set(noon + minute);
        expect(await pause(run)).toEqual({ outcome: "paused", runId: run.id });
        await resume(run);
        expect(await timeoutOf(run)).toBe(noon + 11 * minute);
      });

      test("is refused once the run has a thousand operations, but a resume and a termination never are", async () => {
        const run = await aRun(stage);
        await stage.onlooker.query(
          `insert into layover.operation (run_id, call_id, verb, asked_at, verdict)
             select $1, gen_random_uuid(), 'pause', layover.now(), '{}' from generate_series(1, 999)`,
          [run.id],
        );
        await pause(run);
        await expect(pause(run)).rejects.toMatchObject({ code: "LO012" });
        expect(await run.claim(stage.onlooker, { token: "first" })).toEqual({ outcome: "paused" });
        expect(await resume(run)).toMatchObject({ outcome: "resumed" });
        await expect(resume(run)).rejects.toMatchObject({ code: "LO012" });
        const terminate = { runId: run.id, callId: randomUUID() };
        expect(await stage.onlooker.call("terminate_run", terminate)).toMatchObject({ outcome: "terminated" });
      });
    });

    describe("against the claim of a branch", () => {
      const aRunWithBranches = () => aParkedRun(stage, branches(["a", "b"]));
      const claim = (run: Run) => (session: Session) => run.claimBranch(session, "b", { token: "b" });

      test("refuses the claim that waits for its lock", async () => {
        const run = await aRunWithBranches();
        const [, claimed] = await stage.collide({
          first: (session) => run.operate(session, "pause"),
          second: claim(run),
        });
        expect(claimed).toEqual({ outcome: "paused" });
      });

      test("is answered only when the claim that it waited for is through", async () => {
        const run = await aRunWithBranches();
        const [claimed, paused] = await stage.collide({
          first: claim(run),
          second: (session) => run.operate(session, "pause"),
        });
        expect([claimed, paused]).toMatchObject([{ outcome: "claimed" }, { outcome: "paused" }]);
        expect((await run.pending())["b"]).toMatchObject({ leasedUntil: noon + minute });
      });
    });
  },
  { perTest: true },
);
