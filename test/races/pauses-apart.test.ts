/** A pause changes and locks only the run that it names. So does a resume. */
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aRun, aRunAtWork, minute, noon, type Run, second, soon, tokenOf } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "beside other runs",
  (database) => {
    const stage = stageOn(database);
    const call = (verb: "pause_run" | "resume_run", run: Run, more: object = {}) =>
      stage.onlooker.call(verb, { runId: run.id, callId: randomUUID(), armed: [soon], ...more });
    const pause = (run: Run, more?: object) => call("pause_run", run, more);
    const resume = (run: Run, more?: object) => call("resume_run", run, more);
    const all = async ({ id }: Run) => ({
      run: await stage.look("select * from layover.run_state where run_id = $1", [id]),
      rows: await stage.look("select * from layover.pending where run_id = $1 order by path", [id]),
    });
    const two = async () => [await aFanOut(stage, ["a"]), await aFanOut(stage, ["a"])] as const;
    const held = async (run: Run) =>
      (
        await stage.look(
          "select is_held, paused_at is not null as is_paused from layover.run_state where run_id = $1",
          [run.id],
        )
      )[0];

    beforeEach(async () => {
      await stage.onlooker.query("set statement_timeout = '5s'");
    });

    test("a pause and its end change and lock no other run", async () => {
      const [run, other] = await two();
      const before = await all(other);
      for (const table of ["run_state", "pending"])
        await stage.hold(`select from layover.${table} where run_id = $1 for update`, [other.id]);
      expect(await pause(run)).toMatchObject({ outcome: "paused" });
      expect(await resume(run)).toMatchObject({ outcome: "resumed" });
      expect(await all(other)).toEqual(before);
    });

    test("the end of a pause has what lapsed in it ready from now on, and leaves what did not", async () => {
      const [run, other] = await two();
      for (const one of [run, other]) await pause(one);
      await stage.clock.advance(2 * minute);
      await stage.onlooker.query("update layover.pending set ready_at = layover.now() - interval '1 s'");
      const before = await all(other);
      expect(await resume(run)).toMatchObject({ branches: [{ path: "a" }] });
      const [row] = await stage.look(
        "select layover.to_ms(ready_at)::float8 as ready, layover.to_ms(leased_until)::float8 as leased from layover.pending where run_id = $1",
        [run.id],
      );
      expect(row).toEqual({ ready: 0, leased: noon + 2 * minute });
      expect(await all(other)).toEqual(before);
    });

    test("the end of a pause tells of no branch of another run, and of none while the run is blocked", async () => {
      const [run, other] = [await aRun(stage), await aFanOut(stage, ["a"])];
      for (const one of [run, other]) await pause(one);
      await stage.onlooker.query("update layover.pending set leased_until = layover.now()");
      expect(await resume(run)).toMatchObject({ turn: 1, branches: null });
      await stage.onlooker.query("update layover.run_state set blocked = 'no' where run_id = $1", [other.id]);
      expect(await resume(other)).toMatchObject({ turn: 2, branches: null });
    });

    test("the end of a pause tells of a turn whose lease lapsed in it, and of none that is at work", async () => {
      const [lapsed, atWork] = [await aRunAtWork(stage), await aRunAtWork(stage)];
      for (const run of [lapsed, atWork]) await pause(run);
      await stage.onlooker.query("update layover.run_state set leased_until = layover.now() where run_id = $1", [
        lapsed.id,
      ]);
      expect(await resume(lapsed)).toMatchObject({ turn: 1 });
      expect(await resume(atWork)).toMatchObject({ turn: null });
      expect(await atWork.state()).toMatchObject({ token: tokenOf("first"), leasedUntil: noon + minute });
    });

    test("the end of a pause leaves when a run is ready later", async () => {
      const run = await aRun(stage);
      await pause(run);
      await stage.onlooker.query("update layover.run_state set ready_at = layover.now() + interval '1 minute'");
      expect(await resume(run)).toMatchObject({ turn: null });
      expect(await run.state()).toMatchObject({ readyAt: noon + minute });
      await pause(run);
      await stage.clock.advance(minute);
      expect(await resume(run, { armed: [noon + 3 * minute] })).toMatchObject({ turn: 1 });
      expect(await stage.look("select ready_at = 'epoch' as is_ready from layover.run_state")).toEqual([
        { is_ready: true },
      ]);
    });

    test("the end of a pause has the run looked at within a minute, and at once where nothing is armed", async () => {
      const run = await aRun(stage);
      await pause(run);
      await resume(run, { armed: [noon + second, noon + minute, noon + 2 * minute] });
      expect(await run.state()).toMatchObject({ dueAt: noon + minute });
      await pause(run);
      await resume(run, { armed: undefined });
      expect(await run.state()).toMatchObject({ dueAt: noon });
    });

    describe("of a workflow", () => {
      const change = (verb: "pause" | "resume", more: object = {}) =>
        stage.onlooker.call(`${verb}_workflow`, { workflow: "flow", callId: randomUUID(), armed: [soon], ...more });
      const rows = async (where = "true") =>
        await stage.look(
          `select namespace, workflow, call_id, resume_call_id, asked_by, reason, layover.to_ms(paused_at)::float8 as paused,
              layover.to_ms(resumed_at)::float8 as resumed from layover.workflow_pause where ${where} order by namespace, workflow`,
        );
      const elsewhere = { namespace: "other" };

      test("a pause that follows another one is kept in its place, with who asked for it and why", async () => {
        await change("pause", { by: "ada", reason: "it is slow" });
        await stage.clock.advance(minute);
        const resumedBy = randomUUID();
        await change("resume", { callId: resumedBy });
        await stage.clock.advance(minute);
        const callId = randomUUID();
        expect(await change("pause", { callId, by: "bob", reason: "it is down" })).toMatchObject({
          outcome: "paused",
          callId,
        });
        expect(await rows()).toMatchObject([
          {
            ...{ call_id: callId, asked_by: "bob", reason: "it is down" },
            ...{ paused: noon + 2 * minute, resumed: null },
          },
        ]);
      });

      test("a pause and its end leave those of other workflows and namespaces as they are", async () => {
        await change("pause", elsewhere);
        await change("pause", { workflow: "another" });
        await change("resume", { ...elsewhere, workflow: "another" });
        const others = "(namespace, workflow) <> ('default', 'flow')";
        const before = await rows(others);
        const callId = randomUUID();
        expect(await change("resume")).toMatchObject({ outcome: "not_applicable" });
        expect(await change("pause", { callId })).toMatchObject({ outcome: "paused", callId });
        expect(await change("resume")).toMatchObject({ outcome: "resumed" });
        expect(await change("pause", { callId })).toMatchObject({ outcome: "resumed", callId });
        expect(await rows(others)).toEqual(before);
        await stage.clock.advance(minute);
        expect(await change("resume")).toMatchObject({ outcome: "resumed" });
        expect(await rows("namespace = 'default' and workflow = 'flow'")).toMatchObject([{ resumed: noon }]);
      });

      test("a pause and its end that name no namespace and no id are of the default one, and get one", async () => {
        const bare = { namespace: undefined, callId: undefined };
        expect(await change("pause", bare)).toMatchObject({ outcome: "paused", callId: expect.any(String) });
        expect(await change("resume", bare)).toMatchObject({ outcome: "resumed", callId: expect.any(String) });
        expect(await rows()).toMatchObject([{ namespace: "default", resume_call_id: expect.any(String) }]);
      });
    });

    test.each([
      ["that closes is not paused", "is_closing = true", "not_applicable"],
      ["that was cancelled is not paused", "cancelled_position = 0", "not_applicable"],
      ["that is asked to end is not paused", "cancel_requested_at = layover.now()", "not_applicable"],
      [
        "that undoes its steps is paused, also after its cancel",
        "ending_position = 0, cancelled_position = 0",
        "paused",
      ],
      ["that undoes its steps is paused, also after it has closed", "ending_position = 0, is_closing = true", "paused"],
    ])("a run %s", async (_, state, outcome) => {
      const run = await aRun(stage);
      await stage.onlooker.query(`update layover.run_state set ${state}`);
      expect(await pause(run)).toMatchObject({ outcome });
    });

    describe("with a workflow", () => {
      test("a run that a person has paused stays that person's, and is not resumed with it", async () => {
        const run = await aRun(stage);
        await pause(run);
        await pause(run, { holds: true });
        expect(await held(run)).toEqual({ is_held: false, is_paused: true });
        expect(await resume(run, { holds: true })).toMatchObject({ outcome: "not_applicable" });
        expect(await resume(run)).toMatchObject({ outcome: "resumed" });
      });

      test("a run that it holds becomes a person's who pauses it, too", async () => {
        const run = await aRun(stage);
        await pause(run, { holds: true });
        expect(await held(run)).toEqual({ is_held: true, is_paused: true });
        await pause(run, { holds: true });
        expect(await held(run)).toEqual({ is_held: true, is_paused: true });
        await pause(run);
        expect(await held(run)).toEqual({ is_held: false, is_paused: true });
      });

      test("a run that it holds is resumed with it", async () => {
        const run = await aRun(stage);
        await pause(run, { holds: true });
        expect(await resume(run, { holds: true })).toMatchObject({ outcome: "resumed" });
        expect(await held(run)).toMatchObject({ is_paused: false });
      });
    });
  },
  { perTest: true },
);
