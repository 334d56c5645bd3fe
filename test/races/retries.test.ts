/** What a retry keeps of a history, whatever other runs and epochs are there, and what keeps it away. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRecord, aRunAtWork, type Run, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("a retry", (database) => {
  const stage = stageOn(database);

  const retry = ({ id: runId }: Run, more: object = {}) =>
    stage.onlooker.call("retry_run", { runId, callId: randomUUID(), armed: [soon], ...more });

  const failing = { at: 2, timeouts: [4], lost: [], repeats: [] };
  const records = [
    aRecord("step", "a", { value: '0"A"' }),
    aRecord("step", "b", { isFailure: true }),
    aRecord("step", "c", { value: '0"C"' }),
    aRecord("signal", "go"),
    aRecord("step", "d", { isFailure: true }),
    aRecord("close", "go", { value: "0true" }),
    aRecord("close", "stop", { value: "0false" }),
  ];

  async function fail(run: Run, list = records, failure: object | undefined = failing, token = "first"): Promise<void> {
    const finish = { token, records: list, next: "failed" as const, value: "0{}", ...(failure && { failure }) };
    // The wire takes a failure as it is drawn here.
    expect(await run.finish(stage.onlooker, finish as Parameters<Run["finish"]>[1])).toMatchObject({
      outcome: "finished",
    });
  }

  /** A run that has failed, in its second epoch. Its first one had succeeded, and so has another run. */
  async function aFailedRun(list = records, failure: object | undefined = failing): Promise<Run> {
    const succeeded = Array.from({ length: 9 }, (_, at) => aRecord("step", `old ${at}`, { value: '0"old"' }));
    const other = await aRunAtWork(stage);
    await other.finish(stage.onlooker, { token: "first", records: succeeded, next: "completed", value: "0null" });
    const run = await aRunAtWork(stage);
    await run.finish(stage.onlooker, { token: "first", records: succeeded, next: "completed", value: "0null" });
    await goOn(run, await stage.onlooker.call("restart_run", { runId: run.id, callId: randomUUID(), armed: [soon] }));
    await fail(run, list, failure, "again");
    return run;
  }

  async function goOn(run: Run, told: unknown): Promise<void> {
    const turns = [run.toClaim({ turn: Number(Object(told).turn), token: "again" })];
    await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns });
  }

  const kept = async (run: Run, epoch = 2) => {
    const rows = await stage.look(
      "select path, is_failure, value from layover.record where run_id = $1 and epoch = $2 order by position",
      [run.id, epoch],
    );
    return rows.map(({ path, is_failure: isFailure, value }) => `${path} ${isFailure ? "failed" : value}`);
  };

  test("keeps all before the record that failed the run, and after it what succeeded and did not time out by throwing", async () => {
    const run = await aFailedRun();
    expect(await retry(run, { epoch: 1 })).toMatchObject({ outcome: "retried", epoch: 2, kept: 4, dropped: 3 });
    expect(await kept(run)).toEqual(['a 0"A"', 'c 0"C"', "go 0true", "stop 0false"]);
  });

  test("forgets that the run closed since its handler had thrown amid a cleanup, and keeps what came after that", async () => {
    const closing = aRecord("closing", "", { isFailure: true });
    const run = await aFailedRun([...records, closing, aRecord("step", "tidy", { value: '0"T"' })]);
    expect(await retry(run, { epoch: 1 })).toMatchObject({ outcome: "retried", kept: 5, dropped: 4 });
    expect(await kept(run)).toEqual(['a 0"A"', 'c 0"C"', "go 0true", "stop 0false", 'tidy 0"T"']);
  });

  test("keeps failures and waits that timed out before the record that failed the run", async () => {
    const timedOut = aRecord("signal", "go", { isFailure: true });
    const failure = { ...failing, at: 4, timeouts: [5] };
    const before = [aRecord("step", "x", { isFailure: true }), timedOut, ...records.slice(0, 2)];
    const run = await aFailedRun([...before, { ...timedOut, occurrence: 2 }], failure);
    expect(await retry(run)).toMatchObject({ outcome: "retried", kept: 3, dropped: 2 });
    expect(await kept(run)).toEqual(["x failed", "go failed", 'a 0"A"']);
  });

  test("writes down how long it may take, and of no other run", async () => {
    const runs = [await aFailedRun(), await aRunAtWork(stage), await aFailedRun(), await aFailedRun()] as const;
    const [run, , timedOut, closed] = runs;
    for (const { id } of runs) {
      await stage.onlooker.query("update layover.run set timeout_ms = null where id = $1", [id]);
      await stage.onlooker.query(
        "update layover.run_state set timeout_at = layover.now() + interval '1 h' where run_id = $1",
        [id],
      );
    }
    // An earlier release has recorded its timeout. The other one closes, and its timeout is the end of its cleanups.
    const closes =
      "update layover.run_state set cancelled_position = 1, cancel_requested_at = case when $2 then layover.now() end";
    for (const one of [timedOut, closed])
      await stage.onlooker.query(`${closes} where run_id = $1`, [one.id, one === closed]);
    for (const one of [run, timedOut, closed]) expect(await retry(one)).toMatchObject({ outcome: "retried" });
    const timeoutOf = async ({ id }: Run) =>
      (await stage.look("select timeout_ms::float8 from layover.run where id = $1", [id]))[0]?.["timeout_ms"];
    expect(await Promise.all(runs.map(timeoutOf))).toEqual([3_600_000, null, 3_600_000, null]);
  });

  test("keeps all where no record failed the run", async () => {
    const run = await aFailedRun(records.slice(0, 3), { timeouts: [], lost: [], repeats: [] });
    expect(await retry(run)).toMatchObject({ outcome: "retried", kept: 3, dropped: 0 });
    expect(await kept(run)).toEqual(['a 0"A"', "b failed", 'c 0"C"']);
    const closed = await aFailedRun([...records.slice(0, 2), aRecord("closing", "", { isFailure: true })], {
      ...{ timeouts: [], lost: [], repeats: [] },
    });
    expect(await retry(closed)).toMatchObject({ outcome: "retried", kept: 2, dropped: 1 });
    expect(await kept(closed)).toEqual(['a 0"A"', "b failed"]);
  });

  test("keeps a failed step whose result is given, as one that succeeded", async () => {
    const run = await aFailedRun();
    const results = [
      { path: "b", occurrence: 1, value: '0"by hand"' },
      { path: "a", occurrence: 1, value: '0"not failed"' },
      { path: "d", occurrence: 2, value: '0"another place"' },
    ];
    expect(await retry(run, { results, by: "ada" })).toMatchObject({ outcome: "retried", kept: 5, dropped: 2 });
    expect(await kept(run)).toEqual(['a 0"A"', 'b 0"by hand"', 'c 0"C"', "go 0true", "stop 0false"]);
    expect(
      await stage.look("select before->'given' as given from layover.epoch where run_id = $1 and epoch = 2", [run.id]),
    ).toEqual([{ given: { 2: "ada" } }]);
  });

  test("takes a result for a step alone", async () => {
    const run = await aFailedRun([aRecord("child", "k", { isFailure: true }), ...records.slice(1)]);
    const results = ["k", "b"].map((path) => ({ path, occurrence: 1, value: '0"by hand"' }));
    expect(await retry(run, { results })).toMatchObject({ outcome: "retried" });
    expect((await kept(run)).slice(0, 2)).toEqual(["k failed", 'b 0"by hand"']);
  });

  test("asks for the results that are lost, but for those that are given", async () => {
    const run = await aFailedRun(records, { ...failing, lost: [2, 5] });
    const needed = (...paths: string[]) => ({
      ...{ outcome: "result_needed", runId: run.id },
      places: paths.map((path) => ({ path, occurrence: 1 })),
    });
    expect(await retry(run)).toEqual(needed("b", "d"));
    const given = (path: string) => ({ path, occurrence: 1, value: "01" });
    expect(await retry(run, { results: [given("b")] })).toEqual(needed("d"));
    expect(await retry(run, { results: [given("b"), given("d")] })).toMatchObject({ outcome: "retried", kept: 6 });
  });

  describe("is refused", () => {
    test("for a run that is not failed, and for one in another epoch", async () => {
      const run = await aRunAtWork(stage);
      expect(await retry(run)).toEqual({ outcome: "not_applicable", status: "running", runId: run.id });
      const failed = await aFailedRun();
      expect(await retry(failed, { epoch: 0 })).toEqual({ outcome: "epoch_changed", epoch: 1, runId: failed.id });
    });

    test("where what succeeded afterwards would be done again, or the run was closing", async () => {
      const repeats = [{ path: "c", occurrence: 1 }];
      const run = await aFailedRun(records, { ...failing, repeats });
      expect(await retry(run)).toEqual({ outcome: "would_repeat", places: repeats, runId: run.id });
      const closed = await aFailedRun([...records, aRecord("closing", "", { isFailure: true })]);
      await stage.onlooker.query("update layover.run_state set failure = null where run_id = $1", [closed.id]);
      expect(await retry(closed)).toEqual({ outcome: "closing", runId: closed.id });
    });

    test("where another epoch or another run was closing it is not", async () => {
      await aFailedRun([aRecord("closing", "", { isFailure: true })]);
      const run = await aFailedRun();
      await stage.onlooker.query("update layover.run_state set failure = null where run_id = $1", [run.id]);
      await stage.look("update layover.record set kind = 'closing' where run_id = $1 and epoch = 0 and position = 1", [
        run.id,
      ]);
      expect(await retry(run)).toMatchObject({ outcome: "retried" });
    });

    test("where the signal that it is to send is taken no more by what it keeps", async () => {
      const run = await aFailedRun();
      const signal = (name: string) => ({ signal: { signalId: randomUUID(), name, encodedPayload: "01" } });
      expect(await retry(run, signal("go"))).toEqual({ outcome: "signal_closed", name: "go", runId: run.id });
      expect(await retry(run, signal("stop"))).toMatchObject({ outcome: "retried" });
      const mail = await stage.look("select name, position from layover.signal where run_id = $1", [run.id]);
      expect(mail).toEqual([{ name: "stop", position: null }]);
    });

    test("where it goes on with undos alone, and it is to send a signal", async () => {
      const run = await aFailedRun();
      const signal = { signalId: randomUUID(), name: "other", encodedPayload: "01" };
      await stage.look("update layover.record set kind = 'ending' where run_id = $1 and epoch = 1 and position = 1", [
        run.id,
      ]);
      expect(await retry(run, { signal })).toMatchObject({ outcome: "signal_closed" });
    });

    test("not where what it drops has closed that name", async () => {
      const closing = [...records.slice(0, 2), aRecord("close", "go", { value: "0true" })];
      const run = await aFailedRun(closing, { ...failing, timeouts: [3] });
      const signal = { signalId: randomUUID(), name: "go", encodedPayload: "01" };
      expect(await retry(run, { signal })).toMatchObject({ outcome: "retried", kept: 1 });
    });

    test("where a process is not listed in which it is armed, and the signal is not sent", async () => {
      const run = await aFailedRun();
      await expect(retry(run, { rings: [randomUUID()] })).rejects.toMatchObject({ code: "LO011" });
    });
  });

  describe("of a run that was undone", () => {
    const owed = ["a", "b", "c"].map((path) => ({ path, occurrence: 1 }));
    const undo = (path: string, isFailure = false) => aRecord("step", `[undo]/${path}`, { isFailure });
    const ending = aRecord("ending", "", { value: JSON.stringify({ next: "failed", error: "0{}", owed }) });
    const undone = [aRecord("step", "x", { isFailure: true }), ending, undo("a", true), undo("b"), undo("c", true)];

    async function anUndoneRun(failedUndos: number | null): Promise<Run> {
      const run = await aFailedRun(undone, undefined);
      await stage.look(
        "update layover.run_state set ending_position = 2, undos = 3, failed_undos = $2 where run_id = $1",
        [run.id, failedUndos],
      );
      return run;
    }

    test("keeps what was undone, and owes first what is done", async () => {
      const run = await anUndoneRun(2);
      expect(await retry(run)).toMatchObject({ outcome: "retried", kept: 3, dropped: 2 });
      expect(await kept(run)).toMatchObject(["x failed", expect.stringContaining("owed"), "[undo]/b 0null"]);
      const [row] = await stage.look(
        "select value::json->'owed' as owed from layover.record where run_id = $1 and epoch = 2 and kind = 'ending'",
        [run.id],
      );
      expect(row?.["owed"]).toEqual([owed[1], owed[0], owed[2]]);
    });

    test("owes first what is done of it: after its end, of that occurrence, in its own history", async () => {
      const twice = { path: "b", occurrence: 2 };
      const end = { next: "failed", error: "0{}", owed: [...owed, twice] };
      const history = (done: readonly string[]) => [
        undo("c"),
        aRecord("ending", "", { value: JSON.stringify(end) }),
        ...owed.map(({ path }) => undo(path, !done.includes(path))),
        { ...undo("b"), occurrence: 2 },
      ];
      const endings = async ({ id }: Run, epoch: number) =>
        (
          await stage.look("select value from layover.record where run_id = $1 and epoch = $2 and kind = 'ending'", [
            id,
            epoch,
          ])
        ).map(({ value }) => String(value));
      const anUndoneOne = async (done: readonly string[]) => {
        const run = await aFailedRun(history(done), undefined);
        await stage.look(
          "update layover.run_state set ending_position = 2, undos = 4, failed_undos = 2 where run_id = $1",
          [run.id],
        );
        return run;
      };
      const [run, other] = [await anUndoneOne([]), await anUndoneOne(["a", "c"])];
      // The other one is at the epoch that this one is to begin, and its order there is another one.
      await retry(other);
      await stage.look(
        "update layover.record set value = $2 where run_id = $1 and epoch = 2 and kind = 'ending' returning value",
        [other.id, JSON.stringify(end)],
      );
      const before = [await endings(run, 1), await endings(other, 2)];
      expect(await retry(run)).toMatchObject({ outcome: "retried" });
      const [ending = "{}"] = await endings(run, 2);
      expect(JSON.parse(ending)).toEqual({ ...end, owed: [twice, ...owed] });
      expect([await endings(run, 1), await endings(other, 2)]).toEqual(before);
    });

    test.each([0, null])("is refused where no undo failed: %s", async (failedUndos) => {
      const run = await anUndoneRun(failedUndos);
      expect(await retry(run)).toEqual({ outcome: "compensated", runId: run.id });
    });
  });
});
