/**
 * `npm run bench`: layover beside a hand-written lower bound, in one process, on one Postgres that is
 * started for it.
 *
 *   --check        exit with 1 where a median misses its aim
 *   --rounds N     rounds per scenario (5)
 *   --only a,b     these scenarios only, by their letters
 *   --json FILE    write everything measured, with the machine, to FILE
 */

import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { startPostgres } from "../postgres/server.ts";
import { tellUsage } from "../usage.ts";
import { bound, boundKeepingHistory, boundOfBatches } from "./contenders.ts";
import {
  layover,
  layoverByMap,
  layoverByPromiseAll,
  layoverByStep,
  layoverEncrypted,
  layoverInBatches,
  layoverInBatchesByStep,
} from "./layover.ts";
import { layoverLongLived } from "./layover-long-lived.ts";
import { layoverTraced, layoverTracedInPart } from "./layover-traced.ts";
import { describeMachine } from "./machine.ts";
import { Meter, POSTGRES_SETTINGS } from "./meter.ts";
import { type Result, takeRounds } from "./rounds.ts";
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
import { describe, judge, type Verdict } from "./verdict.ts";

const CONNECTIONS = 16;

const SEASONING = { runs: 500, steps: 10 };

const SCENARIOS = [
  manyRuns({ contenders: [bound, layover, layoverByStep], runs: 2_000, steps: 10 }),
  hops({ contenders: [bound, layover, layoverByStep], runs: 100, steps: 10 }),
  longRun({ contenders: [bound, boundKeepingHistory, layover], steps: 3_000 }),
  batches({
    contenders: [boundOfBatches, layoverInBatches, layoverInBatchesByStep],
    runs: 2_000,
    steps: 10,
    batch: 100,
  }),
  fanOut({ contenders: [layoverByMap, layoverByPromiseAll], runs: 20, branches: 250, narrow: 100, wide: 2_000 }),
  dueAtOnce({ contenders: [layoverInBatches], runs: 10_000, preparationMs: 8_000 }),
  signals({ contenders: [layover], runs: 300 }),
  children({ contenders: [layoverLongLived], others: 1_000 }),
  childrenInARow({ contenders: [layoverLongLived], others: 300 }),
  lapsOf({ contenders: [layoverLongLived], laps: 10_000, steps: 2 }),
  undosOf({ contenders: [layoverLongLived], undos: 100 }),
  retries({ contenders: [layoverLongLived], steps: 9_990 }),
  tracesOf({ contenders: [layover, layoverTracedInPart, layoverTraced], runs: 2_000, steps: 10 }),
  encryption({ contenders: [layover, layoverEncrypted], runs: 2_000, steps: 10 }),
];

const rounded = (_: string, value: unknown) => (typeof value === "number" ? Number(value.toPrecision(5)) : value);

tellUsage(import.meta.url);
const { values: options } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    rounds: { type: "string", default: "5" },
    only: { type: "string" },
    json: { type: "string" },
  },
});
const rounds = Number(options.rounds);
if (!Number.isInteger(rounds) || rounds < 1)
  throw new Error(`--rounds takes a whole number from 1, not "${options.rounds}".`);
const known = SCENARIOS.map(({ name }) => name);
const wanted = options.only?.split(",") ?? known;
const unknown = wanted.filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`--only knows ${known.join(", ")}, not ${unknown.join(", ")}.`);

const postgres = await startPostgres({ version: 15, settings: POSTGRES_SETTINGS });
const results: Result[] = [];
const verdicts: Verdict[] = [];
try {
  const meter = await Meter.attach(postgres);
  try {
    const machine = await describeMachine(meter.admin);
    const takenAt = new Date().toISOString();
    console.log(`${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, ${machine.postgres.split(" on ")[0]}\n`);
    for (const scenario of SCENARIOS.filter(({ name }) => wanted.includes(name))) {
      const report = (line: string) => console.error(line);
      const result = await takeRounds(scenario, meter, {
        rounds,
        connections: CONNECTIONS,
        seasoning: SEASONING,
        report,
      });
      console.log(`\n${table(result)}\n`);
      results.push(result);
      verdicts.push(...judge(scenario, result, scenario.held ?? "layover"));
    }
    if (options.json !== undefined) {
      const document = { takenAt, machine, rounds, connections: CONNECTIONS, results, verdicts };
      await writeFile(options.json, `${JSON.stringify(document, rounded, 2)}\n`);
    }
  } finally {
    await meter.detach();
  }
} finally {
  await postgres.stop();
}

for (const verdict of verdicts) console.log(describe(verdict));
if (verdicts.length === 0) console.log("layover took no part: nothing to check.");
if (options.check && (verdicts.length === 0 || verdicts.some(({ isMet }) => !isMet))) process.exitCode = 1;
