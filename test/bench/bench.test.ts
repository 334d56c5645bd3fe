/** Keeps the benchmark from rotting: its frame at toy size. Nothing here depends on how fast anything is. */

import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../postgres/server.ts";
import type { Contender } from "./contender.ts";
import { bound, boundKeepingHistory, boundOfBatches } from "./contenders.ts";
import { medians, quantile } from "./figures.ts";
import { layover, layoverByMap, layoverByPromiseAll, layoverInBatches, layoverInBatchesByStep } from "./layover.ts";
import { layoverLongLived } from "./layover-long-lived.ts";
import { Meter, POSTGRES_SETTINGS } from "./meter.ts";
import { takeRounds } from "./rounds.ts";
import { batches } from "./scenarios/batches.ts";
import { children } from "./scenarios/children.ts";
import { childrenInARow } from "./scenarios/children-in-a-row.ts";
import { dueAtOnce } from "./scenarios/due-at-once.ts";
import { encryption } from "./scenarios/encryption.ts";
import { fanOut } from "./scenarios/fan-out.ts";
import { hops } from "./scenarios/hops.ts";
import { lapsOf } from "./scenarios/laps.ts";
import { longRun } from "./scenarios/long-run.ts";
import { manyRuns } from "./scenarios/many-runs.ts";
import { retries } from "./scenarios/retries.ts";
import { signals } from "./scenarios/signals.ts";
import { tracesOf } from "./scenarios/traces.ts";
import { undosOf } from "./scenarios/undos.ts";
import { table } from "./table.ts";
import { judge, describe as sentence } from "./verdict.ts";

const OPTIONS = { rounds: 2, connections: 2, seasoning: { runs: 1, steps: 2 }, report: () => {} };

let postgres: PostgresServer;
let meter: Meter;

beforeAll(async () => {
  postgres = await startPostgres({ version: 15, settings: { ...POSTGRES_SETTINGS, fsync: "off" } });
  meter = await Meter.attach(postgres);
});

afterAll(async () => {
  await meter?.detach();
  await postgres?.stop();
});

describe("a scenario", () => {
  test("of many runs counts two statements for each step of the bound", async () => {
    const scenario = manyRuns({ contenders: [bound], runs: 5, steps: 3 });
    const { standings } = await takeRounds(scenario, meter, OPTIONS);
    expect(standings).toMatchObject([{ contender: "bound", medians: { statementsPerStep: 2 } }]);
    expect(standings[0]?.medians.walBytesPerStep).toBeGreaterThan(100);
    expect(standings[0]?.rounds).toHaveLength(2);
  });

  test("of hops knows how long a hop takes", async () => {
    const { standings } = await takeRounds(hops({ contenders: [bound], runs: 5, steps: 3 }), meter, OPTIONS);
    expect(standings[0]?.medians.hopP50Ms).toBeGreaterThan(0);
  });

  test("of a long run compares its first hops with its last", async () => {
    const scenario = longRun({ contenders: [bound, boundKeepingHistory], steps: 20 });
    const { standings } = await takeRounds(scenario, meter, OPTIONS);
    expect(standings.map(({ medians }) => medians.statementsPerStep)).toEqual([2, 2]);
    expect(standings[1]?.medians.growth).toBeGreaterThan(0);
    expect(standings[1]?.ratios.lastHundredMs).toBeGreaterThan(0);
  });

  test("of batches carries all runs by a statement or two a step", async () => {
    const contenders = [boundOfBatches, layoverInBatches, layoverInBatchesByStep];
    const { standings } = await takeRounds(batches({ contenders, runs: 30, steps: 5, batch: 100 }), meter, OPTIONS);
    expect(standings.map(({ medians }) => Math.round((medians.statementsPerStep ?? 0) * 150))).toEqual([10, 6, 10]);
  });

  test("of branches counts how often their run is continued", async () => {
    const contenders = [layoverByMap, layoverByPromiseAll];
    const scenario = fanOut({ contenders, runs: 3, branches: 20, narrow: 10, wide: 20 });
    const { standings } = await takeRounds(scenario, meter, OPTIONS);
    expect(standings).toMatchObject([{ medians: { continuations: 1 } }, { medians: { continuations: 1 } }]);
    expect(standings[0]?.medians.branchGrowth).toBeGreaterThan(0);
  });

  test("of runs that are due at once counts from their instant, and not from before", async () => {
    const scenario = dueAtOnce({ contenders: [layoverInBatches], runs: 20, preparationMs: 3_000 });
    const { standings } = await takeRounds(scenario, meter, OPTIONS);
    const { firstStartMs = -1, allEndedMs = -1 } = standings[0]?.medians ?? {};
    expect(firstStartMs).toBeGreaterThanOrEqual(0);
    expect(allEndedMs).toBeGreaterThan(firstStartMs);
  });

  test("of signals takes three statements each: the signal, a claim and a finish", async () => {
    const { standings } = await takeRounds(signals({ contenders: [layover], runs: 5 }), meter, OPTIONS);
    expect(standings).toMatchObject([{ medians: { statementsPerStep: 3 } }]);
    expect(standings[0]?.medians.endP50Ms).toBeGreaterThan(0);
  });

  test("of runs that start others, continue as new, are undone and retried is played to its end", async () => {
    const contenders = [layoverLongLived];
    const scenarios = [
      children({ contenders, others: 5 }),
      childrenInARow({ contenders, others: 3 }),
      lapsOf({ contenders, laps: 10, steps: 2 }),
      undosOf({ contenders, undos: 3 }),
      retries({ contenders, steps: 5 }),
    ];
    for (const scenario of scenarios) {
      const result = await takeRounds(scenario, meter, OPTIONS);
      expect(judge(scenario, result, "layover")).toMatchObject([{ value: expect.any(Number) }]);
    }
  });

  test("refuses a contender that leaves out a step", async () => {
    const scenario = manyRuns({ contenders: [leavingOut(bound)], runs: 5, steps: 3 });
    await expect(takeRounds(scenario, meter, OPTIONS)).rejects.toThrow("Of 3 steps, 2 were carried out.");
  });
});

describe("the meter", () => {
  test("counts the statements within a transaction one by one", async () => {
    const client = new Client(await meter.createDatabase("bench_meter"));
    await client.connect();
    const cost = await meter.measure("bench_meter", 1, async () => {
      for (const text of ["begin", "select 1", "select 1", "select 2", "commit"]) await client.query(text);
    });
    await client.end();
    await meter.dropDatabase("bench_meter");
    expect(cost.statementsPerStep).toBe(5);
  });
});

describe("a verdict", () => {
  const scenario = manyRuns({ contenders: [], runs: 1, steps: 1 });
  const standing = { contender: "layover", rounds: [] };

  test("holds ratios and figures against the aims", () => {
    const fast = {
      ...standing,
      medians: { statementsPerStep: 2, walBytesPerStep: 901 },
      ratios: { stepsPerSecond: 0.7 },
    };
    const verdicts = judge(scenario, { scenario: "a", title: "", standings: [fast] }, "layover");
    expect(verdicts.map(({ isMet }) => isMet)).toEqual([true, true, false]);
    expect(verdicts.map(sentence).at(-1)).toBe("MISSED (a) layover, WAL B: 901, aim at most 900");
  });

  test("takes what was not measured for missed", () => {
    const verdicts = judge(
      scenario,
      { scenario: "a", title: "", standings: [{ ...standing, medians: {}, ratios: {} }] },
      "layover",
    );
    expect(verdicts.map(({ isMet }) => isMet)).toEqual([false, false, false]);
  });
});

test("scenarios have letters of their own, and the contender that is held to aims is none that others are compared with", () => {
  const contenders = [layover, { ...layover, name: "layover, traced" }, { ...layover, name: "layover, encrypted" }];
  const shape = { contenders, runs: 1, steps: 1 };
  const compared = [tracesOf(shape), encryption(shape)];
  expect(new Set(compared.map(({ name }) => name)).size).toBe(2);
  for (const { held, aims } of compared) {
    expect(contenders.slice(1).map(({ name }) => name)).toContain(held);
    expect(aims).toHaveLength(1);
  }
});

describe("figures", () => {
  test("have medians where they were measured", () => {
    expect(medians([{ growth: 1 }, { growth: 3, hopP50Ms: 5 }, { growth: 2 }])).toEqual({ growth: 2, hopP50Ms: 5 });
  });

  test("lie between the two nearest values", () => {
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(quantile([7], 0.95)).toBe(7);
  });

  test("are shown with their ratio to the bound", () => {
    const standings = [
      { contender: "bound", medians: { stepsPerSecond: 1000, growth: 1 }, ratios: {}, rounds: [] },
      {
        contender: "layover",
        medians: { stepsPerSecond: 800, growth: 1.25 },
        ratios: { stepsPerSecond: 0.8, growth: 1.25 },
        rounds: [],
      },
    ];
    expect(
      table({ scenario: "a", title: "Title", standings })
        .split("\n")
        .map((line) => line.trimEnd()),
    ).toEqual([
      "(a) Title",
      "             steps/s  last/first",
      "bound           1000        1.00",
      "layover  800 (×0.80)        1.25",
    ]);
  });
});

/** The same engine, but each run is one step short. */
function leavingOut(contender: Contender): Contender {
  return {
    name: "leaving out",
    async prepare(database) {
      const engine = await contender.prepare(database);
      return {
        start: ({ runs, steps }) => engine.start({ runs, steps: steps - 1 }),
        carryOut: (runIds, body) => engine.carryOut(runIds, body),
        close: () => engine.close(),
      };
    },
  };
}
