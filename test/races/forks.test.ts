/** What a fork is made of: each row of the new run, whatever other runs, epochs and namespaces are there. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { allRowsOn, failedRunsOn } from "./next-epochs.ts";
import { aParkedRun, aRecord, aRunAtWork, aWaitFor, minute, noon, Run, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("a fork", (database) => {
  const stage = stageOn(database);

  interface Forking {
    readonly from?: string;
    readonly occurrence?: number;
    readonly newRunId?: string;
    readonly id?: string;
    readonly encodedInput?: string;
    readonly epoch?: number;
    readonly namespace?: string;
  }

  const fork = ({ id: runId }: Run, { from, occurrence = 1, ...more }: Forking = {}) =>
    stage.onlooker.call("fork_run", {
      ...{ runId, armed: [soon], ...more },
      ...(from !== undefined && { from: { path: from, occurrence } }),
    });

  const records = [
    aRecord("step", "a", { value: '0"A"' }),
    aRecord("step", "approval/announce", { value: '0"asked"' }),
    aRecord("close", "room/go", { value: "0true" }),
    aRecord("close", "stop", { value: "0false" }),
    aRecord("step", "approval#2/announce", { value: '0"asked again"' }),
    aRecord("callback", "approval", { value: '0"yes"' }),
    aRecord("callback", "approval", { value: '0"no"', occurrence: 2 }),
    aRecord("step", "b", { value: '0"B"' }),
  ];

  /** A completed run with these records, and with all that a start may give it. Beside it is one like it that has more. */
  async function anOrder(name: string = randomUUID()): Promise<Run> {
    const given = { traceparent: "00-1-1-01", timeoutMs: 7 * minute, tags: { customer: "c1" }, sent: "digest" };
    const other = await aRunAtWork(stage, { ...given, id: `not ${name}`, encodedInput: '0"other"', signature: "0715" });
    await finish(other, [...records, aRecord("callback", "a"), aRecord("close", "later", { value: "0true" })]);
    const run = await aRunAtWork(stage, { ...given, id: name, encodedInput: '0"input"', signature: "5157" });
    await finish(run, records);
    return run;
  }

  async function finish(run: Run, list: typeof records, token = "first"): Promise<void> {
    const outcome = await run.finish(stage.onlooker, { token, records: list, next: "completed", value: "0null" });
    expect(outcome).toMatchObject({ outcome: "finished" });
  }

  /** Restarts it, and carries out the whole of the epoch that has begun. */
  async function restart(run: Run, more: object, list: typeof records): Promise<void> {
    const call = { runId: run.id, callId: randomUUID(), armed: [soon], ...more };
    const told = await stage.onlooker.call("restart_run", call);
    const turn = Number(Object(told).turn);
    await stage.onlooker.call("claim_turns", {
      ...terms,
      knowsEpochs: true,
      turns: [run.toClaim({ turn, token: "again" })],
    });
    await finish(run, list, "again");
  }

  const row = async (text: string, { id }: Run) => {
    const [found] = await stage.look(`select to_json(x) as row from (${text}) as x`, [id]);
    return found?.["row"];
  };
  const runRow = (run: Run) =>
    row(
      `select namespace, workflow, version, user_id, input, sent, is_input_parsed, traceparent, signature, timeout_ms,
         layover.to_ms(created_at) as created_at, parent_run_id from layover.run where id = $1`,
      run,
    );
  const stateRow = (run: Run) =>
    row(
      `select status, epoch, turn, layover.to_ms(timeout_at) as timeout_at, layover.to_ms(due_at) as due_at, last_position,
         handed_position, history_bytes::integer as history_bytes, closed, has_mail, has_pending
         from layover.run_state where run_id = $1`,
      run,
    );
  const epochRows = (run: Run) =>
    stage.look("select epoch, why, kept, is_input_parsed, segments, before from layover.epoch where run_id = $1", [
      run.id,
    ]);
  const recordRows = (run: Run) =>
    stage.look(
      "select epoch, position, path, occurrence, value from layover.record where run_id = $1 order by epoch, position",
      [run.id],
    );
  const made = async (run: Run, options: Forking = {}) => {
    const newRunId = randomUUID();
    expect(await fork(run, { newRunId, ...options })).toEqual({ outcome: "forked", runId: newRunId, turn: 1 });
    return new Run(stage, newRunId);
  };

  test("has what was given to the start of the old run, but its id, and a new time", async () => {
    const run = await anOrder();
    await stage.clock.set(noon + 20_000);
    const copy = await made(run, { from: "b" });
    expect(await runRow(copy)).toEqual({
      ...{ namespace: "default", workflow: "flow", version: 1, user_id: null, parent_run_id: null },
      ...{ input: '0"input"', sent: "digest", is_input_parsed: true },
      ...{ traceparent: "00-1-1-01", signature: "5157", timeout_ms: 7 * minute, created_at: noon + 20_000 },
    });
    expect(await stateRow(copy)).toEqual({
      ...{ status: "parked", epoch: 1, turn: 1, timeout_at: noon + 20_000 + 7 * minute, due_at: soon },
      ...{
        last_position: 7,
        handed_position: 6,
        history_bytes: 48,
        closed: ["go"],
        has_mail: false,
        has_pending: false,
      },
    });
    expect(await stage.look("select name, value from layover.tag where run_id = $1", [copy.id])).toEqual([
      { name: "customer", value: "c1" },
    ]);
    expect(await recordRows(copy)).toEqual(
      records
        .slice(0, 7)
        .map(({ path, occurrence, value }, index) => ({ epoch: 1, position: index + 1, path, occurrence, value })),
    );
    expect(await epochRows(copy)).toMatchObject([
      {
        ...{ epoch: 1, why: "forked", kept: 7, is_input_parsed: true, before: null },
        segments: [
          { from: 0, run: run.id, epoch: 0 },
          { from: 7, run: copy.id, epoch: 1, at: noon + 20_000, shift: 20_000 },
        ],
      },
    ]);
  });

  test("copies what announced a callback, whose answer it does not copy, and the names that were closed", async () => {
    const copy = await made(await anOrder(), { from: "approval" });
    const paths = (await recordRows(copy)).map(({ path }) => path);
    expect(paths).toEqual(["a", "approval/announce", "room/go", "stop", "approval#2/announce"]);
    expect(await stateRow(copy)).toMatchObject({ last_position: 5, handed_position: 4, closed: ["go"] });
    expect(await epochRows(copy)).toMatchObject([{ kept: 5 }]);
  });

  test("begins anew without a place, and may have an id and another input", async () => {
    const run = await anOrder();
    const id = randomUUID();
    const copy = await made(run, { id, encodedInput: "0{}" });
    expect(await runRow(copy)).toMatchObject({ user_id: id, input: "0{}", sent: null, is_input_parsed: true });
    expect(await stateRow(copy)).toMatchObject({
      last_position: 0,
      handed_position: -1,
      history_bytes: 0,
      closed: null,
    });
    expect(await recordRows(copy)).toEqual([]);
  });

  test("of a later epoch has the input and the records of that, and the results that people gave", async () => {
    const run = await anOrder();
    const list = [aRecord("step", "a", { value: '0"given"' }), aRecord("step", "b")];
    await restart(run, { encodedInput: '0{"of":"epoch 1"}' }, list);
    await stage.look(`update layover.epoch set before = '{"given": {"1": "ada"}}' where run_id = $1`, [run.id]);
    const copy = await made(run, { from: "b" });
    expect(await runRow(copy)).toMatchObject({ input: '0{"of":"epoch 1"}', sent: null, is_input_parsed: true });
    expect(await recordRows(copy)).toEqual([{ epoch: 1, position: 1, path: "a", occurrence: 1, value: '0"given"' }]);
    expect(await epochRows(copy)).toMatchObject([{ before: { given: { 1: "ada" } } }]);
    expect(await epochRows(await made(run))).toMatchObject([{ before: null }]);
  });

  test("has its input parsed in its first turn where that of the old run was not", async () => {
    const run = await anOrder();
    await stage.look("update layover.run set is_input_parsed = false where id = $1", [run.id]);
    expect(await runRow(await made(run))).toMatchObject({ is_input_parsed: false });
    expect(await runRow(await made(run, { encodedInput: "0{}" }))).toMatchObject({ is_input_parsed: true });
  });

  test.each([
    ["before", "go"],
    ["after", "b"],
  ])("that begins %s a signal and an answer has no mail, and leaves the old run as it was", async (_, from) => {
    const run = await failedRunsOn(stage).aFailedRun();
    const { rows, state } = allRowsOn(stage);
    const all = async () => ({ ...(await rows(run)), state: await state(run), run: await runRow(run) });
    const before = await all();
    const signal = expect.arrayContaining([3, null].map((position) => expect.objectContaining({ position })));
    expect(before).toMatchObject({ signal, callback: [{ position: 4 }] });
    const copy = await made(run, { from });
    expect(await rows(copy)).toMatchObject({ signal: [], callback: [], pending: [] });
    expect(await stateRow(copy)).toMatchObject({ has_mail: false });
    expect(await all()).toEqual(before);
  });

  test("may be made from psql, where an id is made and nobody arms", async () => {
    const run = await anOrder();
    const [answer] = await stage.look(
      `select layover.fork_run(json_build_object('runId', $1::uuid)::jsonb) as answer`,
      [run.id],
    );
    const { outcome, runId } = Object(answer?.["answer"]);
    expect(outcome).toBe("forked");
    expect(await stateRow(new Run(stage, runId))).toMatchObject({ due_at: noon });
  });

  describe("is refused", () => {
    test("of a run that is not there, is not over, or is in another epoch by now", async () => {
      expect(await fork(new Run(stage, randomUUID()))).toEqual({ outcome: "unknown" });
      const run = await anOrder();
      expect(await fork(run, { namespace: "elsewhere" })).toEqual({ outcome: "unknown" });
      const working = await aRunAtWork(stage);
      expect(await fork(working)).toEqual({ outcome: "not_applicable", status: "running", runId: working.id });
      expect(await fork(run, { epoch: 1 })).toEqual({ outcome: "epoch_changed", epoch: 0, runId: run.id });
      expect(await fork(run, { epoch: 0 })).toMatchObject({ outcome: "forked" });
      expect(await fork(run, { from: "c" })).toEqual({ outcome: "unknown_place", runId: run.id });
    });

    test.each([
      ["paused", (run: Run) => run.operate(stage.onlooker, "pause")],
      ["blocked", (run: Run) => run.finish(stage.onlooker, { token: "second", next: "blocked", value: "other code" })],
    ] as const)("of a run that is %s, which a restart takes", async (status, stop) => {
      const run = await aParkedRun(stage, [aWaitFor("go")]);
      if (status === "blocked") {
        await run.signal(stage.onlooker, "go");
        await run.claim(stage.onlooker, { turn: 2, token: "second" });
      }
      await stop(run);
      const newRunId = randomUUID();
      expect(await fork(run, { newRunId })).toEqual({ outcome: "not_applicable", status, runId: run.id });
      expect(await stage.look("select id from layover.run where id = $1", [newRunId])).toEqual([]);
      const call = { runId: run.id, callId: randomUUID(), armed: [soon] };
      expect(await stage.onlooker.call("restart_run", call)).toMatchObject({ outcome: "restarted", epoch: 1 });
    });

    test("where its id is another run's, or the user's own id is taken", async () => {
      const name = randomUUID();
      const run = await anOrder(name);
      const other = await aRunAtWork(stage);
      const conflict = { outcome: "conflict", runId: run.id };
      expect(await fork(run, { newRunId: other.id })).toEqual(conflict);
      expect(await fork(run, { newRunId: run.id })).toEqual(conflict);
      expect(await fork(run, { id: `not ${name}` })).toEqual(conflict);
      await restart(run, {}, []);
      expect(await fork(run, { newRunId: run.id })).toEqual(conflict); // it has an epoch 1, and is no fork
      const copy = await made(run);
      expect(await fork(run, { newRunId: copy.id })).toEqual({ outcome: "forked", runId: copy.id, turn: 1 });
    });

    test("by no deletion of another run, nor of another namespace", async () => {
      const run = await anOrder();
      const newRunId = randomUUID();
      await stage.look(
        `insert into layover.deletion (namespace, run_id, deleted_at)
           values ('default', gen_random_uuid(), layover.now()), ('elsewhere', $1, layover.now())`,
        [newRunId],
      );
      expect(await fork(run, { newRunId })).toEqual({ outcome: "forked", runId: newRunId, turn: 1 });
    });
  });
});
