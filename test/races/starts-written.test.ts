/** A start writes the rows of its run, and the times at which that is ready and looked at. It changes no other run. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRun, aStart, minute, noon, second, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a start",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "due may be early, never late (by more than two minutes)",
        "nothing is left of a run that is gone",
      ],
    });
    const runId = "0197a000-0000-7000-8000-00000000000a";
    const start = (more: object = {}) => stage.onlooker.call("start_run", { ...aStart(runId), ...more });
    const runRow = async () =>
      (
        await stage.look(
          `select namespace, workflow, version, user_id, input, sent, is_input_parsed, traceparent, signature, timeout_ms::integer,
              layover.to_ms(created_at)::float8 as created, layover.to_ms(starts_at)::float8 as starts,
              layover.to_ms(commit_by)::float8 as commit_by, parent_run_id, depth, chain from layover.run where id = $1`,
          [runId],
        )
      )[0];
    const stateRow = async () =>
      (
        await stage.look(
          `select namespace, status, turn, layover.to_ms(timeout_at)::float8 as timeout, layover.to_ms(last_record_at)::float8 as recorded,
              layover.to_ms(ready_at)::float8 as ready, layover.to_ms(due_at)::float8 as due, layover.to_ms(paused_at)::float8 as paused, is_held, has_parent
             from layover.run_state where run_id = $1`,
          [runId],
        )
      )[0];
    const state = {
      ...{ namespace: "default", status: "parked", turn: 1, timeout: null, recorded: noon, ready: 0, due: soon },
      ...{ paused: null, is_held: false, has_parent: false },
    };
    const day = 24 * 60 * minute;

    test("writes all that it says", async () => {
      const told = await start({
        ...{ namespace: "shop", workflow: "other", version: 3, id: "o1", encodedInput: "0[1]", sent: "digest" },
        ...{
          traceparent: "t1",
          signature: "s1",
          timeoutMs: minute,
          delayMs: second,
          tags: { b: "2", a: "1" },
          commitWithinMs: 5,
        },
      });
      expect(told).toEqual({ outcome: "started", runId, turn: 1, readyAt: noon + second, now: noon });
      expect(await runRow()).toEqual({
        ...{ namespace: "shop", workflow: "other", version: 3, user_id: "o1", input: "0[1]", sent: "digest" },
        ...{
          is_input_parsed: true,
          traceparent: "t1",
          signature: "s1",
          timeout_ms: minute,
          created: noon,
          starts: noon + second,
        },
        ...{ commit_by: noon + 5, parent_run_id: null, depth: 0, chain: 0 },
      });
      const own = { namespace: "shop", timeout: noon + second + minute, ready: noon + second };
      expect(await stateRow()).toEqual({ ...state, ...own });
      expect(await stage.look("select run_id, namespace, name, value from layover.tag order by name")).toEqual([
        { run_id: runId, namespace: "shop", name: "a", value: "1" },
        { run_id: runId, namespace: "shop", name: "b", value: "2" },
      ]);
    });

    test("writes nothing that it does not say", async () => {
      expect(await start()).toEqual({ outcome: "started", runId, turn: 1, readyAt: noon, now: noon });
      expect(await runRow()).toEqual({
        ...{
          namespace: "default",
          workflow: "flow",
          version: 1,
          user_id: null,
          input: "0{}",
          sent: null,
          is_input_parsed: true,
        },
        ...{ traceparent: null, signature: null, timeout_ms: null, created: noon, starts: null, commit_by: null },
        ...{ parent_run_id: null, depth: 0, chain: 0 },
      });
      expect(await stateRow()).toEqual(state);
      expect(await stage.look("select from layover.tag")).toEqual([]);
    });

    describe("is ready", () => {
      test.each([
        ["after its delay", { delayMs: 1 }, noon + 1],
        ["at its instant", { startAt: noon + 2, delayMs: 1 }, noon + 2],
        ["now, where its instant has passed", { startAt: noon - 1 }, noon],
      ])("%s", async (_, more, readyAt) => {
        expect(await start({ ...more, timeoutMs: minute })).toMatchObject({ readyAt });
        const isLater = readyAt > noon;
        expect(await stateRow()).toEqual({ ...state, ready: isLater ? readyAt : 0, timeout: readyAt + minute });
        expect(await runRow()).toMatchObject({ starts: isLater ? readyAt : null });
      });

      test("and is looked at no later than that", async () => {
        await start({ delayMs: day, armed: [soon, noon + day, noon + day + minute] });
        expect(await stateRow()).toEqual({ ...state, ready: noon + day, due: noon + day });
      });
    });

    describe("of a workflow", () => {
      const pause = (values: string) =>
        stage.onlooker.query(
          `insert into layover.workflow_pause (namespace, workflow, paused_at, resumed_at, call_id) select ${values}, gen_random_uuid()`,
        );
      test.each([
        ["that is paused is held", "'default', 'flow', layover.now(), null", true],
        ["that was paused before is not held", "'default', 'flow', layover.now(), layover.now()", false],
        ["is not held by the pause of another one", "'default', 'other', layover.now(), null", false],
        ["is not held by a pause elsewhere", "'shop', 'flow', layover.now(), null", false],
      ])("%s", async (_, values, isHeld) => {
        await pause(values);
        expect(await start()).toMatchObject({ outcome: "started", turn: isHeld ? null : 1 });
        expect(await stateRow()).toEqual(isHeld ? { ...state, is_held: true, paused: noon, due: null } : state);
      });
    });

    describe("of a run that was deleted", () => {
      const note = (namespace: string, id: string) =>
        stage.onlooker.query(
          "insert into layover.deletion (namespace, run_id, deleted_at) values ($1, $2, layover.now())",
          [namespace, id],
        );

      test("makes nothing anew, and leaves other runs", async () => {
        const other = await aRun(stage);
        await note("default", runId);
        const told = { outcome: "started", runId, version: 1, turn: null, isDeleted: true, now: noon };
        expect(await start({ tags: { a: "1" } })).toEqual(told);
        expect(await stage.look("select id from layover.run")).toEqual([{ id: other.id }]);
        expect(await stage.look("select from layover.tag")).toEqual([]);
      });

      test.each([
        ["elsewhere", "shop", runId],
        ["with another id", "default", "0197a000-0000-7000-8000-00000000000b"],
      ])("is another one if that was %s", async (_, namespace, id) => {
        await note(namespace, id);
        expect(await start()).toEqual({ outcome: "started", runId, turn: 1, readyAt: noon, now: noon });
      });
    });

    test("that comes again is told of the run as it is, and changes nothing of it", async () => {
      await start({ version: 2, tags: { a: "1" } });
      const before = [await runRow(), await stateRow()];
      await stage.clock.advance(second);
      const again = { outcome: "started", runId, version: 2, now: noon + second };
      expect(await start({ version: 3, tags: { a: "2" } })).toEqual(again);
      expect([await runRow(), await stateRow()]).toEqual(before);
      expect(await stage.look("select value from layover.tag")).toEqual([{ value: "1" }]);
    });

    test("with the id of one run and the user's id of another one is about the first", async () => {
      await start({ id: "o1" });
      await stage.onlooker.call("start_run", { ...aStart(), id: "o2" });
      expect(await start({ id: "o2" })).toMatchObject({ outcome: "started", runId });
    });
  },
  { perTest: true },
);
