/** Each row that the next epoch of a run begins with, that it leaves behind, and that a retry which is taken back puts back. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aDemand,
  aRecord,
  aRun,
  aRunAtWork,
  at,
  aWaitFor,
  minute,
  noon,
  type Run,
  second,
  soon,
  terms,
} from "./runs.ts";
import { stageOn } from "./stage.ts";

const tables = ["record", "pending", "map", "attempt", "signal", "callback", "epoch", "setback", "patch"] as const;

describeSomePostgres("the next epoch", (database) => {
  const stage = stageOn(database);

  const repair = (run: Run, verb: "retry" | "restart", more: object = {}) =>
    stage.onlooker.call(`${verb}_run`, { runId: run.id, callId: randomUUID(), armed: [soon], ...more });

  async function rows(run: Run): Promise<Readonly<Record<string, unknown>>> {
    const parts = tables.map(
      (table) =>
        `(select coalesce(json_agg(x order by x::text), '[]') from layover.${table} x where x.run_id = $1) as ${table}`,
    );
    const [found] = await stage.look(`select ${parts.join(", ")}`, [run.id]);
    return found ?? {};
  }

  async function state(run: Run): Promise<Readonly<Record<string, unknown>>> {
    const [found] = await stage.look("select to_jsonb(x) as state from layover.run_state x where x.run_id = $1", [
      run.id,
    ]);
    return Object(found?.["state"]);
  }

  const iso = (ms: number) => new Date(ms).toISOString().replace(".000Z", "+00:00");

  /**
   * A run that has failed in its second turn. It has taken a signal and an answer, has an attempt, a patch and a closed name, and
   * has mail that it has not taken.
   */
  async function aFailedRun(): Promise<Run> {
    await stage.clock.set(noon);
    const run = await aRunAtWork(stage, { timeoutMs: 60 * minute, encodedInput: '0"first"' });
    const attempt = { ...at("a"), number: 1, beganAt: noon, endedAt: noon, error: "0null", demandedAfter: 0 };
    await run.finish(stage.onlooker, {
      ...{ token: "first", attempt, patches: [{ path: "check first", position: 1 }] },
      records: [aRecord("step", "a"), aRecord("close", "stop", { value: "0true" })],
      demands: [aWaitFor("go"), aDemand("callback", "approval", { ordinal: 2 })],
    });
    await run.signal(stage.onlooker, "go");
    await run.signal(stage.onlooker, "go", { payload: '0"again"' });
    await run.answer(stage.onlooker, "approval");
    await run.claim(stage.onlooker, { turn: 2, token: "second" });
    const [sent] = await stage.look("select min(number)::integer as number from layover.signal where run_id = $1", [
      run.id,
    ]);
    const records = [
      aRecord("signal", "go", { value: '0"here"', signal: Number(sent?.["number"]) }),
      aRecord("callback", "approval", { value: "0true" }),
      aRecord("step", "b", { isFailure: true }),
      aRecord("step", "c"),
    ];
    const failure = { at: 5, timeouts: [], lost: [], repeats: [] };
    await stage.clock.set(noon + second);
    expect(
      await run.finish(stage.onlooker, {
        ...{ token: "second", position: 2, records, next: "failed", value: '0{"message":"no"}', failure },
      }),
    ).toMatchObject({ outcome: "finished" });
    await stage.look(
      `update layover.run_state set lost = 2, spared = 1, lost_token = gen_random_uuid(), dispatches = 3, claims = 1, beginnings = 1,
         begun = 'a#1/1', is_interrupted = true, custom_status = '0"busy"' where run_id = $1`,
      [run.id],
    );
    return run;
  }

  async function claim(run: Run, token: string): Promise<void> {
    const { turn } = await state(run);
    const turns = [run.toClaim({ turn: Number(turn), token })];
    expect(await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns })).toMatchObject({
      turns: [{ outcome: "claimed" }],
    });
  }

  /** One that goes on after its retry, with a failed attempt, a map and a setback in its second epoch. */
  async function aRetriedRun(): Promise<Run> {
    const run = await aFailedRun();
    await repair(run, "retry");
    await claim(run, "third");
    const attempt = { ...at("b"), number: 1, beganAt: noon, endedAt: noon + minute, error: "0null", demandedAfter: 5 };
    const map = { path: "all", slots: 1, failsFast: false };
    const demands = [aDemand("branch", "all/a", { map, demandedAfter: 5 })];
    await run.finish(stage.onlooker, { token: "third", position: 5, attempt, demands });
    await stage.look(
      "insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until) values ($1, '', 0, 1, '', 1, layover.now(), layover.now())",
      [run.id],
    );
    return run;
  }

  /** Claims a run, and blocks it at once. */
  async function block(run: Run, position: number): Promise<void> {
    await claim(run, "blocking");
    await run.finish(stage.onlooker, { token: "blocking", position, next: "blocked", value: "other code" });
  }

  /** What every epoch begins with. */
  const fresh = {
    ...{
      status: "parked",
      token: null,
      leased_until: null,
      claims: 0,
      beginnings: 0,
      lost: 0,
      spared: 0,
      lost_token: null,
    },
    ...{ dispatches: 0, is_interrupted: false, begun: null, has_pending: false, blocked: null, refused_by: null },
    ...{
      cancel_requested_at: null,
      cancel_reason: null,
      cancelled_position: null,
      is_closing: false,
      ending_position: null,
    },
    ...{
      undos: null,
      failed_undos: null,
      ended_at: null,
      result: null,
      error: null,
      failure: null,
      paused_at: null,
      children: 0,
    },
    ...{ finished_answer: null, is_held: false },
  };

  describe("after a restart", () => {
    test("has the records before the cut, its whole time, and no status of its own", async () => {
      const [other, run] = [await aFailedRun(), await aFailedRun()];
      const before = [await rows(other), await state(other)];
      const { turn } = await state(run);
      await stage.clock.set(noon + 20 * second);
      expect(await repair(run, "restart", { from: { path: "go", occurrence: 1 } })).toMatchObject({
        ...{ outcome: "restarted", kept: 2, dropped: 4, turn: Number(turn) + 1 },
      });
      expect(await state(run)).toMatchObject({
        ...fresh,
        ...{
          epoch: 1,
          turn: Number(turn) + 1,
          last_position: 2,
          handed_position: 1,
          history_bytes: 10,
          closed: ["stop"],
        },
        ...{ has_mail: true, custom_status: null, finished_token: null, due_at: iso(soon), ready_at: iso(0) },
        ...{ timeout_at: iso(noon + 20 * second + 60 * minute), last_record_at: iso(noon + 20 * second) },
      });
      const { record, attempt, signal, callback, epoch, patch } = await rows(run);
      expect(record).toHaveLength(6 + 2);
      expect(attempt).toMatchObject([
        { epoch: 0, path: "a" },
        { epoch: 1, path: "a" },
      ]);
      expect(patch).toMatchObject([
        { epoch: 0, position: 1 },
        { epoch: 1, position: 1 },
      ]);
      expect(signal).toMatchObject([
        { payload: '0"here"', position: null, taken_epoch: 1 },
        { payload: '0"again"', position: null, taken_epoch: 0 },
      ]);
      expect(callback).toMatchObject([{ epoch: 0, position: null, outcome: "resolved" }]);
      expect(epoch).toMatchObject([
        {
          ...{ epoch: 1, why: "restarted", input: null, is_input_parsed: true, kept: 2, laps: 0, before: null },
          began_at: iso(noon + 20 * second),
          segments: [
            { from: 0, at: noon, run: run.id, epoch: 0 },
            { from: 2, at: noon + 20 * second, run: run.id, epoch: 1, shift: 19 * second },
          ],
        },
      ]);
      expect([await rows(other), await state(other)]).toEqual(before);
    });

    test("of a paused run leaves nothing of what it waited for, and tells nobody else to", async () => {
      const waiting = async () => {
        const run = await aRunAtWork(stage);
        const map = { path: "all", slots: 1, failsFast: false };
        const demands = [
          aDemand("branch", "all/a", { map }),
          aDemand("branch", "all/b", { map, ordinal: 2 }),
          aWaitFor("go"),
        ];
        await run.finish(stage.onlooker, { token: "first", demands });
        await stage.look(
          "insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until) values ($1, '', 0, 1, '', 1, layover.now(), layover.now())",
          [run.id],
        );
        await run.operate(stage.onlooker, "pause");
        return run;
      };
      const [other, run] = [await waiting(), await waiting()];
      const before = await rows(other);
      expect(await repair(run, "restart")).toMatchObject({ outcome: "restarted" });
      expect(await rows(run)).toMatchObject({ pending: [], map: [], setback: [] });
      expect(await state(run)).toMatchObject({
        ...fresh,
        has_mail: false,
        closed: null,
        timeout_at: null,
      });
      expect((await rows(run))["epoch"]).toMatchObject([{ segments: [{ shift: 0 }] }]);
      expect(await rows(other)).toEqual(before);
    });

    test("is not taken back: it is blocked", async () => {
      const run = await aFailedRun();
      await repair(run, "restart");
      await block(run, 0);
      expect(await state(run)).toMatchObject({ status: "parked", blocked: "other code", epoch: 1 });
    });

    test("has the input of the epoch before, and is parsed as that was", async () => {
      const run = await aRun(stage);
      await stage.look("update layover.run set is_input_parsed = false where id = $1", [run.id]);
      await run.operate(stage.onlooker, "pause");
      const epochs = async () =>
        await stage.look("select input, is_input_parsed from layover.epoch where run_id = $1 order by epoch", [run.id]);
      await repair(run, "restart");
      expect(await epochs()).toEqual([{ input: null, is_input_parsed: false }]);
      for (const more of [{ encodedInput: '0"new"' }, {}]) {
        await run.operate(stage.onlooker, "pause");
        await repair(run, "restart", more);
      }
      expect((await epochs()).slice(1)).toEqual([
        { input: '0"new"', is_input_parsed: true },
        { input: '0"new"', is_input_parsed: true },
      ]);
    });
  });

  describe("after a retry", () => {
    test("has all but the failure, its old seeds, and what the run said of itself", async () => {
      const run = await aFailedRun();
      const { turn } = await state(run);
      await stage.clock.set(noon + 20 * second);
      expect(await repair(run, "retry")).toMatchObject({
        outcome: "retried",
        kept: 5,
        dropped: 1,
        turn: Number(turn) + 1,
      });
      expect(await state(run)).toMatchObject({
        ...fresh,
        ...{ epoch: 1, turn: Number(turn) + 1, last_position: 5, handed_position: 4, closed: ["stop"], has_mail: true },
        ...{ custom_status: '0"busy"', finished_token: null, timeout_at: iso(noon + 20 * second + 60 * minute) },
      });
      const { signal, callback, epoch } = await rows(run);
      expect(signal).toMatchObject([
        { payload: '0"here"', position: 3, taken_epoch: 1 },
        { payload: '0"again"', position: null, taken_epoch: 0 },
      ]);
      expect(callback).toMatchObject([{ epoch: 0, position: 4 }]);
      expect(epoch).toMatchObject([
        {
          ...{ why: "retried", kept: 5, laps: 0 },
          segments: [
            { from: 0, run: run.id, epoch: 0, at: noon },
            { from: 5, run: run.id, epoch: 0, at: noon + 20 * second, shift: 19 * second },
          ],
        },
      ]);
    });

    test("that is taken back leaves each row as it was", async () => {
      const [other, run] = [await aRetriedRun(), await aFailedRun()];
      const before = [await rows(run), await state(run)] as const;
      const others = [await rows(other), await state(other)];
      await stage.clock.set(noon + 20 * second);
      await repair(run, "retry", { by: "ada" });
      await claim(run, "third");
      expect(
        await run.finish(stage.onlooker, {
          token: "third",
          position: 5,
          next: "blocked",
          value: "it is not asked for",
        }),
      ).toMatchObject({ outcome: "finished", status: "failed" });
      expect(await rows(run)).toEqual(before[0]);
      const worn = {
        claims: 0,
        beginnings: 0,
        lost: 0,
        spared: 0,
        lost_token: null,
        dispatches: 0,
        begun: null,
        is_interrupted: false,
        has_pending: false,
      };
      const { turn, finished_token: _, finished_answer: __, ...now } = await state(run);
      const { turn: old, finished_token: ___, finished_answer: ____, ...then } = before[1];
      expect(now).toEqual({ ...then, ...worn, timeout_at: null });
      expect(turn).toBe(Number(old) + 2);
      expect([await rows(other), await state(other)]).toEqual(others);
      expect(await stage.look("select verb, verdict::json from layover.operation where run_id = $1", [run.id])).toEqual(
        [
          {
            verb: "retry",
            verdict: { outcome: "would_repeat", runId: run.id, places: [], why: "it is not asked for" },
          },
        ],
      );
    });

    test("that comes after another one is taken back alone", async () => {
      const run = await aFailedRun();
      await repair(run, "retry");
      await claim(run, "third");
      const failure = { at: 6, timeouts: [], lost: [], repeats: [] };
      const records = [aRecord("step", "b", { isFailure: true })];
      await run.finish(stage.onlooker, { token: "third", position: 5, records, next: "failed", value: "0{}", failure });
      await repair(run, "retry");
      await block(run, 5);
      expect(await state(run)).toMatchObject({ status: "failed", epoch: 1, last_position: 6 });
      expect((await rows(run))["epoch"]).toMatchObject([{ epoch: 1, why: "retried" }]);
    });

    test("is not taken back once somebody has asked the run to end", async () => {
      const run = await aFailedRun();
      await repair(run, "retry");
      await claim(run, "blocking");
      await run.operate(stage.onlooker, "cancel");
      await run.finish(stage.onlooker, { token: "blocking", position: 5, next: "blocked", value: "other code" });
      expect(await state(run)).toMatchObject({ status: "parked", epoch: 1 });
    });

    test("is not taken back where its first turn did not get on, and is tried again", async () => {
      const run = await aFailedRun();
      await repair(run, "retry");
      await claim(run, "third");
      await run.finish(stage.onlooker, { token: "third", position: 5, setback: "it took too long" });
      expect(await state(run)).toMatchObject({ status: "parked", blocked: null, epoch: 1 });
    });

    test("is not taken back once it has gone on: it is blocked", async () => {
      const run = await aFailedRun();
      await repair(run, "retry");
      await claim(run, "third");
      await run.finish(stage.onlooker, { token: "third", position: 5, records: [aRecord("step", "b")], next: "ready" });
      await claim(run, "fourth");
      await run.finish(stage.onlooker, { token: "fourth", position: 6, next: "blocked", value: "other code" });
      expect(await state(run)).toMatchObject({ status: "parked", blocked: "other code", epoch: 1 });
    });

    test("is not taken back once an attempt has failed in it", async () => {
      const run = await aFailedRun();
      await stage.clock.set(noon + 20 * second);
      await repair(run, "retry");
      await claim(run, "third");
      const attempt = {
        ...at("b"),
        number: 1,
        beganAt: noon + 20 * second,
        endedAt: noon + 21 * second,
        error: "0null",
        demandedAfter: 5,
      };
      await run.finish(stage.onlooker, { token: "third", position: 5, attempt, next: "ready" });
      await claim(run, "fourth");
      await run.finish(stage.onlooker, { token: "fourth", position: 5, next: "blocked", value: "other code" });
      expect(await state(run)).toMatchObject({ status: "parked", blocked: "other code", epoch: 1 });
    });
  });

  test("of a run that continues as new has its input, its mail, its timeout and its status, and drops the histories before the last", async () => {
    const other = await aRetriedRun();
    const before = await rows(other);
    await stage.clock.set(noon);
    const run = await aRunAtWork(stage, { timeoutMs: 60 * minute });
    await run.signal(stage.onlooker, "go");
    await stage.look(`update layover.run_state set custom_status = '0"busy"' where run_id = $1`, [run.id]);
    const { turn } = await state(run);
    const lap = async (token: string, input: string) => {
      await stage.clock.advance(2 * second);
      const attempt = { ...at("a"), number: 1, beganAt: noon, endedAt: noon, error: "0null", demandedAfter: 0 };
      const patches = [{ path: "check first", position: 0 }];
      await run.finish(stage.onlooker, { token, attempt, patches, next: "ready" });
      await claim(run, token);
      const records = [aRecord("step", "a"), aRecord("close", "go", { value: "0true" })];
      await run.finish(stage.onlooker, { token, records, next: "ready", continues: input });
    };
    await lap("first", '0"second"');
    expect(await state(run)).toMatchObject({
      ...{ ...fresh, finished_answer: expect.stringContaining("finished") },
      ...{
        epoch: 1,
        turn: Number(turn) + 2,
        last_position: 0,
        handed_position: -1,
        history_bytes: 0,
        closed: null,
        has_mail: true,
      },
      ...{ custom_status: '0"busy"', finished_token: expect.any(String), timeout_at: iso(noon + 60 * minute) },
    });
    await claim(run, "second");
    await lap("second", '0"third"');
    const { record, epoch, signal, attempt, patch } = await rows(run);
    expect(record).toMatchObject([{ epoch: 1 }, { epoch: 1 }]);
    expect(attempt).toMatchObject([{ epoch: 1 }]);
    expect(patch).toMatchObject([{ epoch: 1 }, { epoch: 2 }]);
    expect(signal).toMatchObject([{ position: null }]);
    expect(epoch).toMatchObject([
      { epoch: 1, why: "continued", input: '0"second"', is_input_parsed: true, kept: 0, laps: 0 },
      {
        ...{ epoch: 2, why: "continued", input: '0"third"', before: null, laps: 0 },
        segments: [{ from: 0, run: run.id, epoch: 2, at: noon + 4 * second, shift: 0 }],
      },
    ]);
    expect(await rows(other)).toEqual(before);
  });
});
