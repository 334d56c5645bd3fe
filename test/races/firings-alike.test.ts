/** Firings of schedules beside others that are named alike: each schedule looks at its own runs. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { elsewhere, firingsOn, hour, next } from "./firing.ts";
import { minute, noon, Run, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

/** An id that begins with the time, as all that layover makes. */
function firstIdAt(ms: number): string {
  const hex = ms.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

describeSomePostgres(
  "a schedule that fires beside others",
  (database) => {
    const stage = stageOn(database);
    const { create, fire } = firingsOn(stage);
    const trigger = async (name: string, more: object = {}) => {
      const call = { name, runId: randomUUID(), ignoresOverlap: true, armed: [noon + minute], ...more };
      expect(await stage.onlooker.call("trigger_schedule", call)).toMatchObject({ outcome: "triggered" });
      return new Run(stage, call.runId);
    };
    const end = async (run: Run, more: object = {}) => {
      await stage.onlooker.call("claim_turns", { ...terms, turns: [run.toClaim({ token: "end" })], ...more });
      await run.finish(stage.onlooker, { token: "end", next: "completed", value: "0null" });
    };

    describe("while runs are at work", () => {
      test("counts its own alone, and names the oldest of several", async () => {
        for (const name of ["a", "b"]) await create(name);
        await create("a", {}, elsewhere);
        await trigger("b");
        await trigger("a", elsewhere);
        await stage.clock.set(next);
        expect(await fire(["a"])).toMatchObject({ runs: [{ schedule: "a" }], skips: [] });
        const own = await stage.look("select id from layover.run where user_id like 'a@2026%'");
        await end(new Run(stage, String(own[0]?.["id"])));
        const ids = ["00000000-0000-7000-8000-000000000002", "00000000-0000-7000-8000-000000000001"];
        for (const runId of ids) await trigger("a", { runId, armed: [next + minute] });
        await end(await trigger("a", { armed: [next + minute] }));
        const call = { name: "a", runId: randomUUID(), armed: [next + minute] };
        expect(await stage.onlooker.call("trigger_schedule", call)).toMatchObject({
          outcome: "skipped",
          skip: { cause: "overlap", runId: ids[1] },
        });
      });

      test("names the one that it started last, also one that was started before runs of schedules were listed", async () => {
        await create("a");
        const ids = ["00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"];
        for (const runId of ids) await trigger("a", { runId });
        const call = () =>
          stage.onlooker.call("trigger_schedule", { name: "a", runId: randomUUID(), armed: [noon + minute] });
        expect(await call()).toMatchObject({ skip: { cause: "overlap", runId: ids[1] } });
        await stage.look("delete from layover.scheduled_run");
        expect(await call()).toMatchObject({ skip: { cause: "overlap", runId: ids[1] } });
      });

      test("starts one where its own is over, and about to be restarted, and another's is at work", async () => {
        for (const name of ["a", "b"]) await create(name);
        const own = await trigger("a");
        await end(own);
        await trigger("b");
        const person = await stage.session("person");
        await person.begin();
        await person.call("restart_run", { runId: own.id, callId: randomUUID(), armed: [noon + minute] });
        const call = { name: "a", runId: randomUUID(), armed: [noon + minute] };
        expect(await stage.onlooker.call("trigger_schedule", call)).toMatchObject({ outcome: "triggered" });
        await person.end("commit");
      });

      test("forgets those of its own that are over, and no others", async () => {
        for (const name of ["a", "b"]) await create(name, { overlap: "allow" });
        await create("a", { overlap: "allow" }, elsewhere);
        const runs = [await trigger("a"), await trigger("b"), await trigger("a", elsewhere)];
        for (const run of runs) await run.operate(stage.onlooker, "terminate", {});
        await runs[2]?.operate(stage.onlooker, "terminate", elsewhere);
        const work = await trigger("a");
        await stage.clock.set(next);
        const { runs: fired } = await fire(["a"]);
        const remembered = await stage.look("select run_id from layover.scheduled_run");
        const expected = [work.id, runs[1]?.id, runs[2]?.id, fired[0]?.runId];
        expect(remembered.map(({ run_id }) => run_id).sort()).toEqual(expected.sort());
      });
    });

    describe("and whose call is sent again", () => {
      const again = async (more: object = {}) => (await fire(["a"], more)).runs.map(({ runId }) => runId);

      test("answers the run of its own firing, though others have fired at that instant", async () => {
        for (const name of ["a", "b"]) await create(name);
        await create("a", {}, elsewhere);
        await stage.clock.set(next);
        const { runs } = await fire(["a", "b"]);
        await fire(["a"], elsewhere);
        expect(await again()).toEqual([runs[0]?.runId]);
      });

      test("does so for five minutes, while nobody has paused the run", async () => {
        await create("a");
        await stage.clock.set(next);
        const [runId = ""] = await again();
        const run = new Run(stage, runId);
        await run.operate(stage.onlooker, "pause", { armed: [next + minute] });
        expect(await again()).toEqual([]);
        await run.operate(stage.onlooker, "resume", { armed: [next + minute] });
        await stage.clock.set(next + 5 * minute - 1);
        expect(await again()).toEqual([runId]);
        await stage.clock.set(next + 5 * minute);
        expect(await again()).toEqual([]);
      });

      test("answers the runs of its last firing alone, while nobody has begun them", async () => {
        await create("a", { overlap: "allow" });
        await stage.clock.set(next);
        const [before = ""] = await again();
        await stage.clock.set(next + hour);
        const { runs } = await fire(["a"], { armed: [next + hour + minute, next + 2 * hour] });
        const [{ runId = "" } = {}] = runs;
        expect(await again()).toEqual([runId]);
        expect(runId).not.toBe(before);
        const run = new Run(stage, runId);
        await run.claim(stage.onlooker, { token: "t" });
        await run.finish(stage.onlooker, { token: "t", next: "ready" });
        expect(await again()).toEqual([]);
      });

      test("answers no run that was forked from its own since then", async () => {
        await create("a", { overlap: "allow" });
        await stage.clock.set(next);
        const [runId = ""] = await again();
        await end(new Run(stage, runId));
        await stage.clock.set(next + minute);
        await stage.onlooker.call("fork_run", {
          runId,
          newRunId: firstIdAt(next + minute),
          armed: [next + 2 * minute],
        });
        expect(await again()).toEqual([]);
      });

      test("does so for a run that was triggered, whatever its id", async () => {
        await create("a");
        const run = await trigger("a");
        expect(await again()).toEqual([run.id]);
      });
    });

    test("is looked at again when its own workflow is resumed, and stays paused if it is", async () => {
      for (const name of ["a", "paused"]) await create(name);
      await create("b", { workflow: "other" });
      await create("a", {}, elsewhere);
      await stage.onlooker.call("pause_schedule", { name: "paused" });
      const call = () => ({ workflow: "flow", callId: randomUUID(), armed: [next + minute] });
      await stage.onlooker.call("pause_workflow", call());
      await stage.clock.set(next);
      await fire(["a"]);
      const others = await stage.hold(
        "select from layover.schedule where namespace <> 'default' or workflow <> 'flow' for update",
      );
      expect(await stage.onlooker.call("resume_workflow", call())).toMatchObject({ isCertain: true });
      await others.rollback();
      expect(
        await stage.look(
          "select namespace, name, layover.to_ms(due_at)::float8 as due from layover.schedule order by 1, 2",
        ),
      ).toEqual([
        { namespace: "default", name: "a", due: next + minute },
        { namespace: "default", name: "b", due: next },
        { namespace: "default", name: "paused", due: null },
        { namespace: "elsewhere", name: "a", due: next },
      ]);
    });

    test("gives its run all that its definition says", async () => {
      const more = { tags: { tier: "gold" }, timeoutMs: hour, signature: "s1", encodedInput: '0"night"' };
      await create("a", more);
      await create("b", { encodedInput: undefined, computesInput: true });
      await stage.clock.set(next);
      await fire(["a", "b"]);
      const facts = { schedule: "a", at: next, firedAt: next, computesInput: false };
      const columns = "user_id as id, input, timeout_ms::float8 as timeout, signature, scheduled";
      const rows = await stage.look(`select ${columns} from layover.run order by user_id`);
      expect(rows).toMatchObject([
        { id: "a@2026-01-01T13:00:00Z", input: '0"night"', timeout: hour, signature: "s1", scheduled: facts },
        { id: "b@2026-01-01T13:00:00Z", timeout: null, scheduled: { ...facts, schedule: "b", computesInput: true } },
      ]);
      expect(await stage.look("select name, value from layover.tag")).toEqual([{ name: "tier", value: "gold" }]);
    });

    test("says why it leaves out an instant whose run is there, and goes on", async () => {
      await create("a", { overlap: "allow" });
      const id = "a@2026-01-01T13:00:00Z";
      await stage.onlooker.call("start_run", {
        ...{ runId: randomUUID(), workflow: "flow", version: 1, id, encodedInput: "0null", armed: [noon + minute] },
      });
      await stage.clock.set(next);
      const { runs, skips } = await fire(["a"]);
      expect(runs).toEqual([]);
      expect(skips).toMatchObject([
        {
          schedule: "a",
          inRow: 1,
          skip: { cause: "conflict", reason: `the id "${id}" is taken by another run`, at: next },
        },
      ]);
      const told = await stage.onlooker.call("get_schedule", { name: "a" });
      expect(told).toMatchObject({
        skipped: 1,
        skippedInRow: 1,
        fired: 0,
        lastAt: next,
        nextAt: next + hour,
        lastRunId: null,
      });
    });
  },
  { perTest: true },
);
