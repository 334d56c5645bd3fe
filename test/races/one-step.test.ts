/** The finish that most turns have: the record of one step, and the claim of the next turn. Whatever else it brings is kept, too. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRecord, aRunAtWork, at, minute, noon, type Run, soon, tokenOf } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("the finish of one step that claims the next turn", (database) => {
  const stage = stageOn(database);
  type Finish = Parameters<Run["finish"]>[1];
  const step: Finish = {
    token: "first",
    next: "ready",
    bytes: 7,
    records: [{ ...aRecord("step", "charge"), value: '0"paid"', attempts: 3, isFailure: true, beganAt: noon - 1 }],
    claim: { token: "second", turn: 2, have: { epoch: 0, position: 1 } },
  };
  const row = async (run: Run) => {
    const [found] = await stage.look(
      `select t.is_interrupted, t.is_closing, t.handed_position, t.history_bytes::integer, t.custom_status, t.closed,
          t.finished_token, layover.to_ms(t.last_record_at)::float8 as last_record_at
         from layover.run_state t where t.run_id = $1`,
      [run.id],
    );
    return found;
  };

  test("moves the run to its next turn, and forgets what was counted of this one", async () => {
    const run = await aRunAtWork(stage);
    await stage.onlooker.query(
      `update layover.run_state set claims = 2, beginnings = 1, lost = 1, dispatches = 2, is_interrupted = true,
          history_bytes = 10, custom_status = '0"packing"' where run_id = $1`,
      [run.id],
    );
    expect(await run.finish(stage.onlooker, step)).toMatchObject({
      outcome: "finished",
      turn: 2,
      status: "parked",
      isReady: true,
      claim: {
        outcome: "claimed",
        turn: 2,
        have: 1,
        position: 1,
        handedPosition: 1,
        lastRecordAt: noon,
        historyBytes: 17,
      },
    });
    expect(await run.state()).toMatchObject({
      status: "running",
      turn: 2,
      token: tokenOf("second"),
      leasedUntil: noon + minute,
      dueAt: soon,
      ...{ claims: 0, beginnings: 0, lost: 0, dispatches: 0, lastPosition: 1, isReady: true },
    });
    expect(await row(run)).toMatchObject({
      is_interrupted: false,
      handed_position: 1,
      history_bytes: 17,
      custom_status: '0"packing"',
      finished_token: tokenOf("first"),
      last_record_at: noon,
    });
    const [record] = await stage.look(
      `select kind, path, occurrence, attempts, is_failure, value, layover.to_ms(recorded_at)::float8 as at,
          layover.to_ms(began_at)::float8 as "beganAt" from layover.record where run_id = $1`,
      [run.id],
    );
    const stored = { kind: "step", path: "charge", occurrence: 1, attempts: 3, is_failure: true, value: '0"paid"' };
    expect(record).toEqual({ ...stored, at: noon, beganAt: noon - 1 });
  });

  test("counts an attempt, a success and no bytes where it does not say", async () => {
    const run = await aRunAtWork(stage);
    const { bytes: _, ...bare } = step;
    await run.finish(stage.onlooker, { ...bare, records: [aRecord("step", "charge")] });
    expect(await stage.look("select attempts, is_failure from layover.record where run_id = $1", [run.id])).toEqual([
      { attempts: 1, is_failure: false },
    ]);
    expect(await row(run)).toMatchObject({ history_bytes: 0 });
  });

  test("sent again is answered the same, and recorded once", async () => {
    const run = await aRunAtWork(stage);
    const answer = await run.finish(stage.onlooker, step);
    expect(await run.finish(stage.onlooker, step)).toMatchObject({ ...answer, claim: { outcome: "claimed", turn: 2 } });
    expect(await run.history()).toEqual(["charge"]);
    expect(await run.state()).toMatchObject({ turn: 2, token: tokenOf("second") });
  });

  test.each([
    ["of another token", { token: "stranger" }],
    ["of a turn that saw another history", { position: 4 }],
  ])("does nothing where it is %s", async (_, changes) => {
    const run = await aRunAtWork(stage);
    const { outcome } = await run.finish(stage.onlooker, { ...step, ...changes });
    expect(["superseded", "deferred"]).toContain(outcome);
    expect(await run.history()).toEqual([]);
  });

  test("does nothing in another namespace", async () => {
    const run = await aRunAtWork(stage);
    const turns = [run.toFinish(step)];
    const { turns: answers } = await stage.onlooker.call("finish_turns", {
      namespace: "other",
      leaseMs: minute,
      turns,
    });
    expect(answers).toMatchObject([{ outcome: "unknown" }]);
    expect(await run.history()).toEqual([]);
  });

  test("claims nothing where the run is to wait", async () => {
    const run = await aRunAtWork(stage);
    const answer = await run.finish(stage.onlooker, { ...step, next: "parked" });
    expect(answer).toMatchObject({ outcome: "finished", isReady: false });
    expect(answer).not.toHaveProperty("claim");
    expect(await run.state()).toMatchObject({ status: "parked", token: null, lastPosition: 1, isReady: false });
  });

  test("takes what has come since with the next claim", async () => {
    const run = await aRunAtWork(stage);
    await run.signal(stage.onlooker, "go");
    expect(await run.finish(stage.onlooker, step)).toMatchObject({
      claim: { outcome: "claimed", signals: [{ name: "go" }] },
    });
  });

  describe.each<[what: string, more: Partial<Finish>, look: string, kept: unknown]>([
    [
      "what the run says of itself",
      { says: [{ value: '0"packed"', saidAfter: 0 }] },
      "custom_status from layover.run_state",
      '0"packed"',
    ],
    [
      "a change of code that it has met",
      { patches: [{ path: "new price", position: 0 }] },
      "path from layover.patch",
      "new price",
    ],
    ["the input that its code has made", { input: "0{}" }, "input from layover.run", "0{}"],
    ["a name that it closes", { closes: ["go"] }, "closed[1] from layover.run_state", "go"],
    ["its closing", { closing: true }, "is_closing from layover.run_state", true],
    ["its next epoch", { continues: "0{}" }, "epoch from layover.run_state", 1],
    [
      "a failed attempt",
      {
        attempt: {
          path: "ship",
          occurrence: 1,
          number: 1,
          error: "0{}",
          beganAt: noon,
          endedAt: noon,
          demandedAfter: 0,
        },
      },
      "path from layover.attempt",
      "ship",
    ],
  ])("that also brings %s", (_, more, look, kept) => {
    test("keeps it", async () => {
      const run = await aRunAtWork(stage);
      await run.finish(stage.onlooker, { ...step, ...more });
      const [column] = look.split(" ");
      const key = look.endsWith("layover.run") ? "id" : "run_id";
      const rows = await stage.look(`select ${look.replace(column ?? "", `${column} as kept`)} where ${key} = $1`, [
        run.id,
      ]);
      expect(rows).toEqual([{ kept }]);
    });
  });

  test.each([
    ["a sleep", { kind: "sleep" as const }],
    ["the end of a wait for a callback", { kind: "callback" as const }],
  ])("records what is no step, as a turn does: %s", async (_, { kind }) => {
    const run = await aRunAtWork(stage);
    await run.finish(stage.onlooker, { ...step, records: [aRecord(kind, "nap")] });
    expect(await run.kinds()).toEqual([`${kind} nap`]);
  });

  test("records two steps, in order", async () => {
    const run = await aRunAtWork(stage);
    const answer = await run.finish(stage.onlooker, {
      ...step,
      records: [aRecord("step", "one"), aRecord("step", "two")],
    });
    expect(answer).toMatchObject({ claim: { outcome: "claimed", turn: 2, position: 2 } });
    expect(await run.history()).toEqual(["one", "two"]);
  });

  test("ends the wait for its next attempt", async () => {
    const run = await aRunAtWork(stage);
    const attempt = {
      ...at("charge"),
      number: 1,
      beganAt: noon,
      endedAt: noon,
      error: "0{}",
      retryInMs: 0,
      demandedAfter: 0,
    };
    await run.finish(stage.onlooker, { token: "first", attempt });
    await run.claim(stage.onlooker, { token: "second", turn: 2 });
    expect(Object.keys(await run.pending())).toEqual(["charge"]);
    await run.finish(stage.onlooker, { ...step, token: "second", claim: { token: "third", turn: 3 } });
    expect(await run.pending()).toEqual({});
  });

  test("refuses a kind of record that there is not, and says so", async () => {
    const run = await aRunAtWork(stage);
    const bad = { ...aRecord("step", "charge"), kind: "riddle" as never };
    await expect(run.finish(stage.onlooker, { ...step, records: [bad] })).rejects.toThrow(
      'there is no record of the kind "riddle"',
    );
    expect(await run.history()).toEqual([]);
  });
});
