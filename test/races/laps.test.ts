/** When the next history of a run begins that continues as new: at once, or later the more often it did so without waiting. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild } from "./invoking.ts";
import { aFanOut, aRecord, aRunAtWork, aWaitFor, noon, Run, second, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("a run that continues as new", (database) => {
  const stage = stageOn(database);

  /** Ends the lap, and answers after how many seconds the next one begins. Then it is at work. */
  async function continues(
    run: Run,
    lap: number,
    { records = [aRecord("step", "a")], afterMs = 0, token = lap === 0 ? "first" : `lap ${lap}` } = {},
  ): Promise<number> {
    if (afterMs > 0) await stage.clock.advance(afterMs);
    const told = await run.finish(stage.onlooker, { token, records, next: "ready", continues: "0{}" });
    const [row] = await stage.look(
      `select layover.to_ms(greatest(ready_at, layover.now()))::float8 as at, layover.to_ms(layover.now())::float8 as now, turn
         from layover.run_state where run_id = $1`,
      [run.id],
    );
    const [at, now] = [Number(row?.["at"]), Number(row?.["now"])];
    expect(told).toMatchObject({ outcome: "finished", isReady: at === now, readyAt: at === now ? null : at });
    await stage.clock.set(at);
    const turns = [run.toClaim({ turn: Number(row?.["turn"]), token: `lap ${lap + 1}` })];
    expect(await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns })).toMatchObject({
      turns: [{ outcome: "claimed", epoch: lap + 1 }],
    });
    return (at - now) / second;
  }

  test("begins the later the more laps in a row have waited for nothing, up to a minute", async () => {
    const run = await aRunAtWork(stage);
    const waits: number[] = [];
    for (let lap = 0; lap < 9; lap += 1) waits.push(await continues(run, lap));
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  test("begins at once after a lap that took a second, and is counted from there", async () => {
    const run = await aRunAtWork(stage);
    const waits = [await continues(run, 0), await continues(run, 1)];
    waits.push(await continues(run, 2, { afterMs: second }), await continues(run, 3));
    expect(waits).toEqual([1, 2, 0, 1]);
  });

  test("begins a second after the lap before it began, whatever that took of it", async () => {
    const run = await aRunAtWork(stage);
    expect(await continues(run, 0, { afterMs: 400 })).toBe(0.6);
  });

  test("keeps the history before its own, and forgets those before that, of itself alone", async () => {
    const [run, other] = [await aRunAtWork(stage), await aRunAtWork(stage)];
    for (const each of [run, other])
      for (const epoch of [0, 1, 2])
        await stage.onlooker.query(
          `insert into layover.callback (run_id, epoch, path, occurrence, outcome, value, answered_at, position)
             values ($1, $2, 'a', 1, 'resolved', '0null', layover.now(), 1)`,
          [each.id, epoch],
        );
    const kept = async (table: string, { id }: Run) =>
      (await stage.look(`select epoch from layover.${table} where run_id = $1 order by epoch`, [id])).map(
        ({ epoch }) => epoch,
      );
    for (const lap of [0, 1]) await continues(other, lap);
    for (const lap of [0, 1, 2]) await continues(run, lap);
    expect(await kept("callback", run)).toEqual([2]);
    expect(await kept("epoch", run)).toEqual([2, 3]);
    expect(await kept("callback", other)).toEqual([1, 2]);
    expect(await kept("epoch", other)).toEqual([1, 2]);
  });

  test.each(["sleep", "signal", "callback"] as const)(
    "begins at once after a lap that has waited: %s",
    async (kind) => {
      const run = await aRunAtWork(stage);
      expect(await continues(run, 0, { records: [aRecord(kind, "a", { value: "0true" })] })).toBe(0);
      expect(await continues(run, 1)).toBe(1);
    },
  );

  test.each([
    ["less than a second counts as one that waited for nothing", 400, [1, 1.6]],
    ["a second or more counts as one that waited", second, [1, 0]],
  ] as const)("after a lap that has waited for another run alone: %s", async (_, takesMs, expected) => {
    const run = await aRunAtWork(stage);
    const waits = [await continues(run, 0)];
    const start = aChild("it", { isBound: true });
    await run.finish(stage.onlooker, { token: "lap 1", children: [start], armed: [soon] });
    const child = new Run(stage, start.runId);
    await child.claim(stage.onlooker, { token: "child" });
    await stage.clock.advance(takesMs);
    const end = { token: "child", next: "completed", value: "0null", armed: [soon] } as const;
    expect(await child.finish(stage.onlooker, end)).toMatchObject({ others: [{ runId: run.id, turn: 3 }] });
    const turns = [run.toClaim({ turn: 3, token: "told" })];
    await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns });
    waits.push(await continues(run, 1, { token: "told", records: [aRecord("child", "it")] }));
    expect(waits).toEqual(expected);
  });

  test("counts no lap of another run, nor of its own before", async () => {
    const [other, run] = [await aRunAtWork(stage), await aRunAtWork(stage)];
    await other.finish(stage.onlooker, { token: "first", records: [aRecord("sleep", "a")], armed: [soon] });
    const waits = [
      await continues(run, 0, { records: [aRecord("sleep", "a")] }),
      await continues(run, 1),
      await continues(run, 2),
    ];
    expect(waits).toEqual([0, 1, 2]);
    expect(await stage.look("select layover.to_ms(layover.now())::float8 as now")).toEqual([
      { now: noon + 3 * second },
    ]);
  });

  test("is not ready while it is paused", async () => {
    const run = await aRunAtWork(stage);
    await run.operate(stage.onlooker, "pause");
    const lap = { token: "first", records: [aRecord("sleep", "a")], next: "ready", continues: "0{}" } as const;
    expect(await run.finish(stage.onlooker, lap)).toMatchObject({ outcome: "finished", isReady: false, readyAt: null });
  });

  test("waits for no lock of another run's branch", async () => {
    const [other, run] = [await aFanOut(stage, ["a"]), await aRunAtWork(stage)];
    await stage.hold("select from layover.pending where run_id = $1 for update", [other.id]);
    await stage.onlooker.query("set statement_timeout = '5s'");
    expect(await run.finish(stage.onlooker, { token: "first", next: "ready", continues: "0{}" })).toMatchObject({
      outcome: "finished",
    });
    await stage.onlooker.query("reset statement_timeout");
  });

  test("tells whom it has asked to end", async () => {
    const run = await aRunAtWork(stage);
    const child = aChild("it", { isBound: true });
    await run.finish(stage.onlooker, { token: "first", children: [child], demands: [aWaitFor("go")] });
    await run.signal(stage.onlooker, "go");
    await run.claim(stage.onlooker, { token: "second", turn: 2 });
    expect(
      await run.finish(stage.onlooker, { token: "second", next: "ready", continues: "0{}", armed: [soon] }),
    ).toMatchObject({ outcome: "finished", others: [{ runId: child.runId, turn: 1 }] });
  });
});
