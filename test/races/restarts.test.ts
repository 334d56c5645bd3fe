/** When a run may be restarted, and what of it goes on: whoever is at work, and whatever other runs are there. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aParkedRun, aRecord, aRunAtWork, aWaitFor, noon, type Run, second, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("a restart", (database) => {
  const stage = stageOn(database);
  const restart = ({ id: runId }: Run, { from, ...more }: { from?: string; [key: string]: unknown } = {}) =>
    stage.onlooker.call("restart_run", {
      ...{ runId, callId: randomUUID(), armed: [soon], ...more },
      ...(from !== undefined && { from: { path: from, occurrence: 1 } }),
    });
  const set = (run: Run, assignments: string, path?: string) =>
    stage.look(
      path === undefined
        ? `update layover.run_state set ${assignments} where run_id = $1`
        : `update layover.pending set ${assignments} where run_id = $1 and path = $2`,
      path === undefined ? [run.id] : [run.id, path],
    );

  async function aCompletedRun(): Promise<Run> {
    const run = await aRunAtWork(stage, { encodedInput: '0"first"' });
    const records = [aRecord("step", "a"), aRecord("step", "b"), aRecord("step", "c")];
    await run.finish(stage.onlooker, { token: "first", records, next: "completed", value: "0null" });
    return run;
  }

  const inputOf = async ({ id }: Run) => {
    const [row] = await stage.look("select input, is_input_parsed from layover.epoch where run_id = $1", [id]);
    return row;
  };

  test.each([
    ["over", "status = status"],
    ["blocked", "status = 'parked', blocked = 'by other code', ended_at = null, result = null, ready_at = 'epoch'"],
    ["paused", "status = 'parked', paused_at = layover.now(), ended_at = null, result = null, ready_at = 'epoch'"],
  ])("is done to a run that is %s", async (_, assignments) => {
    const run = await aCompletedRun();
    await set(run, assignments);
    expect(await restart(run, { from: "b", epoch: 0 })).toMatchObject({
      outcome: "restarted",
      epoch: 1,
      kept: 1,
      dropped: 2,
    });
  });

  test("is refused for a run that goes on, that is in another epoch, or that has not come to the place", async () => {
    const working = await aRunAtWork(stage);
    expect(await restart(working)).toEqual({ outcome: "not_applicable", status: "running", runId: working.id });
    const run = await aCompletedRun();
    expect(await restart(run, { epoch: 1 })).toEqual({ outcome: "epoch_changed", epoch: 0, runId: run.id });
    await aParkedRun(stage, [aWaitFor("d")]); // it has come to a place of that name
    expect(await restart(run, { from: "d" })).toEqual({ outcome: "unknown_place", runId: run.id });
  });

  test.each([
    ["closes, since its handler has ended", "is_closing = true", "compensating"],
    ["closes, since its cancel was asked for", "cancel_requested_at = layover.now()", "cancelling"],
    ["cleans up", "cancelled_position = 1", "cancelling"],
    ["is being undone", "ending_position = 1, undos = 1", "compensating"],
  ] as const)("is refused for a run that %s, though it is blocked or paused", async (_, ending, status) => {
    for (const stopped of ["blocked = 'by other code'", "paused_at = layover.now(), due_at = null"]) {
      const run = await aParkedRun(stage, [aWaitFor("go")]);
      await set(run, `${ending}, ${stopped}, ready_at = 'epoch'`);
      expect(await restart(run)).toEqual({ outcome: "not_applicable", status, runId: run.id });
      expect(await restart(run, { dryRun: true })).toEqual({ outcome: "not_applicable", status, runId: run.id });
    }
  });

  test("is done to a run that has closed or was undone, and is over", async () => {
    const run = await aCompletedRun();
    await set(
      run,
      "is_closing = true, cancelled_position = 1, ending_position = 1, cancel_requested_at = layover.now()",
    );
    expect(await restart(run)).toMatchObject({ outcome: "restarted", epoch: 1 });
  });

  describe("of a paused run whose branches are at work", () => {
    /** Two branches are at work, the second one ten seconds longer. */
    async function aPausedFanOut(): Promise<{ readonly run: Run; readonly until: number }> {
      await aFanOut(stage, ["a", "b"]); // another run's leases keep nobody away
      const run = await aFanOut(stage, ["a", "b"]);
      await set(run, "leased_until = leased_until + interval '10 seconds'", "b");
      await run.operate(stage.onlooker, "pause");
      const [row] = await stage.look(
        "select layover.to_ms(max(leased_until))::float8 as until from layover.pending where run_id = $1",
        [run.id],
      );
      return { run, until: Number(row?.["until"]) };
    }

    test("waits for the last one's lease", async () => {
      const { run, until } = await aPausedFanOut();
      expect(await restart(run)).toEqual({ outcome: "at_work", until, runId: run.id });
      await stage.clock.set(until - 1);
      expect(await restart(run)).toMatchObject({ outcome: "at_work", until });
      await stage.clock.set(until);
      expect(await restart(run)).toMatchObject({ outcome: "restarted" });
      expect(await run.pending()).toEqual({});
    });

    test("waits for the run's own lease, where that ends later", async () => {
      const { run, until } = await aPausedFanOut();
      await set(
        run,
        `status = 'running', token = gen_random_uuid(), leased_until = layover.from_ms(${until + 5 * second})`,
      );
      expect(await restart(run)).toMatchObject({ outcome: "at_work", until: until + 5 * second });
      await set(run, "leased_until = layover.now()");
      expect(await restart(run)).toMatchObject({ outcome: "at_work", until });
    });

    test("waits for a branch that is just being claimed", async () => {
      const run = await aFanOut(stage, ["a", "b"]);
      await stage.look("update layover.pending set token = null, leased_until = null where run_id = $1", [run.id]);
      await run.operate(stage.onlooker, "pause");
      const holder = await stage.hold(
        "update layover.pending set token = gen_random_uuid(), leased_until = layover.now() + interval '1 minute' where run_id = $1",
        [run.id],
      );
      const later = await stage.session("later");
      const call = { runId: run.id, callId: randomUUID(), armed: [soon] };
      const told = later.call("restart_run", call);
      await later.untilBlocked(holder);
      await holder.end("commit");
      expect(await told).toMatchObject({ outcome: "at_work" });
    });
  });

  test("tells in a dry run what it would do, or why not, and does nothing", async () => {
    const run = await aCompletedRun();
    const told = await restart(run, { from: "b", dryRun: true });
    expect(told).toMatchObject({ outcome: "would_restart", runId: run.id, kept: 1, dropped: 2 });
    expect(Object(told).records).toMatchObject([{ path: "b" }, { path: "c" }]);
    expect(await restart(run, { from: "d", dryRun: true })).toEqual({ outcome: "unknown_place", runId: run.id });
    expect(await stage.look("select from layover.operation where run_id = $1", [run.id])).toEqual([]);
    expect(await stage.look("select from layover.epoch where run_id = $1", [run.id])).toEqual([]);
  });

  test("says what it did, and is kept with that", async () => {
    const run = await aCompletedRun();
    const told = await restart(run, { from: "c", by: "ada" });
    expect(told).toEqual({
      outcome: "restarted",
      epoch: 1,
      kept: 2,
      dropped: 1,
      runId: run.id,
      turn: 3,
      readyAt: null,
      others: null,
    });
    expect(
      await stage.look("select verb, asked_by, verdict::json from layover.operation where run_id = $1", [run.id]),
    ).toEqual([
      {
        verb: "restart",
        asked_by: "ada",
        verdict: { outcome: "restarted", epoch: 1, kept: 2, dropped: 1, runId: run.id },
      },
    ]);
    expect(await restart(run, { from: "d" })).toMatchObject({ outcome: "not_applicable" });
  });

  const claim = async (run: Run, turn: number) =>
    (
      await stage.onlooker.call("claim_turns", {
        ...{ ...terms, deployment: "green", knowsEpochs: true },
        turns: [run.toClaim({ token: `epoch ${turn}`, turn })],
      })
    ).turns[0];

  test.each([
    ["blocked", "blocked = 'by other code'"],
    ["paused", "paused_at = layover.now()"],
    ["refused by its only deployment", `paused_at = layover.now(), refused_by = '{"green": {"at": 1, "why": "no"}}'`],
  ])("has a run go on that was %s", async (_, assignments) => {
    const run = await aCompletedRun();
    await set(run, `status = 'parked', ended_at = null, result = null, ready_at = 'epoch', ${assignments}`);
    await restart(run);
    expect(await run.state()).toMatchObject({ blocked: null, isReady: true });
    expect(await claim(run, 3)).toMatchObject({ outcome: "claimed" });
  });

  test("hands out again what the run had taken, but no answer to what it asked for in its first epoch", async () => {
    const run = await aRunAtWork(stage);
    await run.signal(stage.onlooker, "go");
    await run.answer(stage.onlooker, "approval");
    const [{ number } = { number: 0 }] = await stage.look("select number from layover.signal");
    const records = [aRecord("signal", "go", { signal: Number(number) }), aRecord("callback", "approval")];
    await run.finish(stage.onlooker, { token: "first", records, next: "ready" });
    await claim(run, 2);
    await run.finish(stage.onlooker, { token: "epoch 2", position: 2, next: "completed", value: "0null" });
    await restart(run);
    expect(await claim(run, 4)).toMatchObject({ signals: [{ name: "go" }], callbacks: null });
  });

  test("is not before the last record that is kept, though the clock was set back", async () => {
    const run = await aRunAtWork(stage);
    const records = ["a", "b", "c"].map((path, n) => aRecord("step", path, { at: noon + n * second }));
    await run.finish(stage.onlooker, { token: "first", records, next: "completed", value: "0null" });
    await restart(run, { from: "c" });
    const at = "select layover.to_ms(last_record_at)::float8 as at from layover.run_state where run_id = $1";
    expect(await stage.look(at, [run.id])).toEqual([{ at: noon + second }]);
  });

  test("has a history of one part more, each from where it was cut", async () => {
    const run = await aCompletedRun();
    await restart(run, { from: "b" });
    await claim(run, 3);
    const records = ["d", "e"].map((path) => aRecord("step", path));
    await run.finish(stage.onlooker, { token: "epoch 3", position: 1, records, next: "completed", value: "0null" });
    await restart(run, { from: "e" });
    const segments = "select segments from layover.epoch where run_id = $1 and epoch = 2";
    expect(await stage.look(segments, [run.id])).toMatchObject([
      {
        segments: [
          { from: 0, epoch: 0 },
          { from: 1, epoch: 1 },
          { from: 2, epoch: 2 },
        ],
      },
    ]);
  });

  test("has waits that are longer by all the time in which what is cut off was over", async () => {
    const run = await aCompletedRun();
    await stage.clock.set(noon + 20 * second);
    await restart(run, { from: "b" });
    await claim(run, 3);
    await stage.clock.set(noon + 30 * second);
    const records = ["d", "e"].map((path) => aRecord("step", path));
    await run.finish(stage.onlooker, { token: "epoch 3", position: 1, records, next: "completed", value: "0null" });
    await stage.clock.set(noon + 45 * second);
    await restart(run, { from: "e" });
    await claim(run, 5);
    const record = aRecord("step", "f");
    await run.finish(stage.onlooker, {
      token: "epoch 5",
      position: 2,
      records: [record],
      next: "completed",
      value: "0null",
    });
    await stage.clock.set(noon + 85 * second);
    await restart(run, { from: "f" });
    const segments = "select segments from layover.epoch where run_id = $1 and epoch = 3";
    expect(await stage.look(segments, [run.id])).toMatchObject([
      {
        segments: [
          { from: 0, epoch: 0 },
          { from: 1, epoch: 1, shift: 20 * second },
          { from: 2, epoch: 3, shift: (15 + 40) * second },
        ],
      },
    ]);
  });

  test("keeps the input, or has the new one, which is parsed", async () => {
    const [same, other] = [await aCompletedRun(), await aCompletedRun()];
    await restart(same);
    expect(await inputOf(same)).toEqual({ input: null, is_input_parsed: true });
    await restart(other, { encodedInput: '0"second"' });
    expect(await inputOf(other)).toEqual({ input: '0"second"', is_input_parsed: true });
  });

  test("is refused where it is armed in a process that is not listed", async () => {
    const run = await aCompletedRun();
    for (const verb of ["restart_run", "fork_run"] as const) {
      const call = { runId: run.id, callId: randomUUID(), armed: [soon], rings: [randomUUID()] };
      await expect(stage.onlooker.call(verb, call)).rejects.toMatchObject({ code: "LO011" });
    }
  });
});
