import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { OperationVerb } from "../../src/postgres/wire-operations.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aFanOut,
  aParkedRun,
  aRecord,
  aRun,
  aRunAtWork,
  at,
  aWaitFor,
  branches,
  locksByPath,
  minute,
  noon,
  type Run,
  second,
  soon,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a pause",
  (database) => {
    const stage = stageOn(database);
    const operate = (verb: OperationVerb) => (run: Run, more?: Parameters<Run["operate"]>[2]) =>
      run.operate(stage.onlooker, verb, more);
    const [pause, resume] = [operate("pause"), operate("resume")];
    const timeoutOf = async (run: Run) => {
      const [row] = await stage.look(
        "select layover.to_ms(timeout_at)::float8 as at from layover.run_state where run_id = $1",
        [run.id],
      );
      return row?.["at"];
    };
    const operationsOf = (run: Run) =>
      stage.look("select verb, asked_by, reason, verdict from layover.operation where run_id = $1 order by asked_at", [
        run.id,
      ]);

    const paths = ["live", "lost", "tried", "later"];
    /** When each branch is ready ("now" where that is over), and until when it is leased. */
    const leasesOf = async (run: Run) => {
      const rows = await stage.look(
        `select path, layover.show_ready_at(ready_at)::float8 as ready, layover.to_ms(leased_until)::float8 as leased
           from layover.pending where run_id = $1`,
        [run.id],
      );
      return Object.fromEntries(rows.map(({ path, ready, leased }) => [String(path), [ready, leased]]));
    };

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
        expect(await pause(run, { callId })).toEqual({ outcome: "paused", runId: run.id });
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

    describe("that ends", () => {
      test("puts off the run's timeout by as long as it took", async () => {
        const run = await aRun(stage, { timeoutMs: 10 * minute });
        await pause(run);
        await stage.clock.set(noon + 60 * minute);
        expect(await run.claim(stage.onlooker, { token: "first" })).toEqual({ outcome: "paused" });
        expect(await resume(run)).toMatchObject({ outcome: "resumed", turn: 1 });
        expect(await timeoutOf(run)).toBe(noon + 70 * minute);
        expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ outcome: "claimed" });
      });

      test("never brings the timeout nearer, though the clock was set back", async () => {
        const run = await aRun(stage, { timeoutMs: 10 * minute });
        await pause(run);
        await stage.clock.set(noon - 5 * minute);
        await resume(run, { armed: [noon - 4 * minute] });
        expect(await timeoutOf(run)).toBe(noon + 10 * minute);
      });

      test("has the run looked at, at an instant that was armed", async () => {
        const run = await aRun(stage, { delayMs: 60 * minute });
        await pause(run);
        expect(await resume(run)).toMatchObject({ outcome: "resumed", turn: null, branches: null });
        expect(await run.state()).toMatchObject({ dueAt: soon, readyAt: noon + 60 * minute });
      });

      test("tells the branches that may begin at once, and not those that wait or are at work", async () => {
        const map = { path: "all", slots: 3, failsFast: false };
        const run = await aParkedRun(stage, branches(["a", "b", "c", "d"], map));
        await run.claimBranch(stage.onlooker, "a", { token: "a" });
        await pause(run);
        expect(await run.claimBranch(stage.onlooker, "b", { token: "b" })).toEqual({ outcome: "paused" });
        expect(await resume(run)).toMatchObject({
          outcome: "resumed",
          branches: [
            { ...at("b"), turn: 1 },
            { ...at("c"), turn: 1 },
          ],
        });
      });

      test("that comes twice is told the same, and does nothing the second time, not even after another pause", async () => {
        const run = await aRun(stage);
        const callId = randomUUID();
        await pause(run);
        await resume(run, { callId });
        const told = { outcome: "resumed", runId: run.id };
        expect(await resume(run, { callId })).toEqual(told);
        await pause(run);
        expect(await resume(run, { callId })).toEqual(told);
        expect(await run.claim(stage.onlooker, { token: "first" })).toEqual({ outcome: "paused" });
      });

      test("makes ready from now on what became ready meanwhile or lost its lease, and leaves the rest as it is", async () => {
        const late = await aRun(stage, { delayMs: 2 * minute });
        const [lost, live] = [await aRunAtWork(stage), await aRunAtWork(stage)];
        const [fan, other] = [await aFanOut(stage, paths), await aFanOut(stage, paths)];
        for (const run of [fan, other]) {
          for (const [path, retryInMs] of [
            ["tried", 2 * minute],
            ["later", 10 * minute],
          ] as const) {
            const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs };
            await run.finishBranch(stage.onlooker, path, { token: path, attempt });
          }
          // As if it had been claimed before the clock was set back.
          await stage.onlooker.query(
            "update layover.pending set ready_at = layover.now() + interval '5 minutes' where run_id = $1 and path = 'lost'",
            [run.id],
          );
        }
        await stage.clock.set(noon + 90 * second);
        await live.renew(stage.onlooker, "first");
        await fan.renew(stage.onlooker, "live", { path: "live" });
        for (const run of [late, lost, live, fan, other]) await pause(run);
        const before = await leasesOf(other);

        await stage.clock.set(noon + 2 * minute);
        const armed = [noon + 3 * minute];
        for (const run of [lost, live]) await resume(run, { armed });
        expect(await resume(late, { armed })).toMatchObject({ turn: 1, branches: null });
        expect(await resume(fan, { armed })).toMatchObject({ turn: null, branches: [at("lost"), at("tried")] });
        await stage.clock.set(noon + 3 * minute);
        expect(await late.state()).toMatchObject({ readyAt: noon + 3 * minute });
        expect(await lost.state()).toMatchObject({ leasedUntil: noon + 2 * minute });
        expect(await live.state()).toMatchObject({ leasedUntil: noon + 150 * second });
        expect(await leasesOf(fan)).toEqual({
          later: [noon + 10 * minute, null],
          live: [noon + 3 * minute, noon + 150 * second],
          lost: [noon + 5 * minute, noon + 2 * minute],
          tried: [noon + 3 * minute, null],
        });
        expect(await leasesOf(other)).toEqual({ ...before, live: [noon + 3 * minute, noon + minute] });
      });

      test("tells the turn whose lease ran out meanwhile", async () => {
        const run = await aRunAtWork(stage);
        await pause(run);
        await stage.clock.set(noon + 2 * minute);
        expect(await resume(run, { armed: [noon + 3 * minute] })).toMatchObject({
          outcome: "resumed",
          turn: 1,
        });
        expect(await run.claim(stage.onlooker, { token: "again" })).toMatchObject({ outcome: "claimed" });
      });

      test("tells the turn of a run whose branch is blocked, and none of its branches", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await run.finishBranch(stage.onlooker, "a", { token: "a", blocked: "0no" });
        await pause(run);
        await stage.clock.set(noon + 2 * minute);
        expect(await resume(run, { armed: [noon + 3 * minute] })).toMatchObject({ turn: 2, branches: null });
      });

      test("tells a hundred branches at most", async () => {
        const names = Array.from({ length: 101 }, (_, index) => `b${index}`);
        const run = await aParkedRun(stage, branches(names));
        await pause(run);
        expect(await resume(run)).toMatchObject({ branches: names.slice(0, 100).map(at) });
      });

      test("leaves a run blocked that was blocked, and tells its turn, since new code may have come", async () => {
        const run = await aRunAtWork(stage);
        await run.finish(stage.onlooker, { token: "first", next: "blocked", value: "0no" });
        await pause(run);
        expect(await resume(run, { armed: [noon + minute] })).toMatchObject({
          outcome: "resumed",
          turn: 2,
          branches: null,
        });
        expect(await run.state()).toMatchObject({ blocked: "0no", dueAt: noon + minute });
        expect(await run.claim(stage.onlooker, { turn: 2, token: "second" })).toMatchObject({ outcome: "claimed" });
      });

      test("is refused where there is none", async () => {
        const run = await aRun(stage);
        expect(await resume(run)).toEqual({ outcome: "not_applicable", runId: run.id, status: "queued" });
      });
    });
  },
  { perTest: true },
);
