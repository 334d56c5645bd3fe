/**
 * Random programs end alike however they are carried out: in memory or replayed at every turn, in one process or in
 * several, in any order, and with processes dying.
 */
import fc from "fast-check";
import type { Workflow } from "layover";
import { expect, test } from "vitest";
import type { HistoryView } from "../../src/client/history-view.ts";
import type { RunView } from "../../src/client/run-view.ts";
import { testDatabase } from "../postgres/database.ts";
import { orderly, type Program, playing, programContract, type SignalName, wild } from "./program.ts";
import { endings } from "./replaying.ts";
import { World } from "./world.ts";
import type { WorldOptions } from "./world-options.ts";

const database = testDatabase();

const seed = Number(process.env["PROGRAMS_SEED"] ?? 20_261_120);
const numRuns = Number(process.env["PROGRAMS_RUNS"] ?? 25);
const terms = { seed, numRuns, endOnFailure: false } as const;
const timeout = numRuns * 5_000;

/** All worlds have the same run, and so the same uuids. */
const runId = "00000000-0000-7000-8000-000000000000";

interface Trouble {
  /** How often a process dies. */
  readonly deaths?: number;
  /** How many in a hundred calls fail, before or after they took effect. */
  readonly failures?: number;
}

type PlayOptions = Omit<WorldOptions, "workflows"> & Trouble;

interface Played {
  readonly view: RunView;
  readonly history: HistoryView;
}

async function play(program: Program, { deaths, failures, ...options }: PlayOptions): Promise<Played> {
  const bodies = new Map<string, number>();
  const onBody = (key: string) => bodies.set(key, (bodies.get(key) ?? 0) + 1);
  const workflow = programContract.handler(playing(program, onBody));
  const world = await World.begin(database, { ...options, workflows: [workflow] });
  try {
    makeTrouble(world, { deaths, failures });
    const run = await insist(() => world.start(programContract, undefined, { runId }));
    const signals: readonly SignalName[] = ["red", "green", "red", "blue", "green", "red"];
    for (const [index, name] of signals.entries()) {
      await world.pass(25_000);
      if ((await world.get(run.runId)).endedAt !== undefined) break;
      const signalId = world.chance.uuid();
      await insist(() => world.signal(run, programContract, name, index, { signalId }).catch(refuseAllButOver));
    }
    const view = await world.run(run);
    const history = await world.history(run);
    await expectSound(world, workflow, { view, history });
    return { view, history };
  } finally {
    await world.end();
  }
}

/** At calls drawn from the world's own chance. */
function makeTrouble(
  world: World,
  { deaths = 0, failures = 0 }: { [Key in keyof Trouble]: Trouble[Key] | undefined },
): void {
  world.fate = () => {
    const percent = world.chance.below(100);
    if (percent < failures) return world.chance.pick(["fails before", "fails after"] as const);
    if (percent < 100 - 6 || world.deaths >= deaths) return "passes";
    return world.chance.pick(["dies before", "dies after"] as const);
  };
}

/** Whoever asks for something asks again until it is done. */
async function insist<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (tries === 20) throw error;
    }
  }
}

function refuseAllButOver(error: unknown): void {
  if (Reflect.get(Object(error), "code") !== "run_over") throw error;
}

/** What holds of every run that is over. */
async function expectSound(world: World, workflow: Workflow, { view, history }: Played): Promise<void> {
  expect(["completed", "failed"]).toContain(view.status);
  expect(view.blocked).toBeUndefined();
  const places = history.records.map(({ path, occurrence }) => `${path}#${occurrence}`);
  expect(new Set(places).size).toBe(places.length);
  expect(history.records.map(({ position }) => position)).toEqual(places.map((_, index) => index + 1));
  expect(history.pending).toEqual([]);
  const { first, replayed } = await endings(world, workflow, view.runId);
  expect(replayed).toEqual(first);
}

/** How it ended; an error without its stack. */
function endOf({ view: { status, result, error } }: Played): unknown {
  return { status, result, error: error && `${error.name}: ${error.message}` };
}

/** All of the history but the stacks of errors. */
function recordsOf({ history }: Played): readonly unknown[] {
  return history.records.map(({ value, isFailure, beganAt, recordedAt, ...record }) => ({
    ...record,
    recordedAt: recordedAt.getTime(),
    beganAt: beganAt?.getTime(),
    value: isFailure ? `${Reflect.get(Object(value), "name")}: ${Reflect.get(Object(value), "message")}` : value,
  }));
}

/** What was recorded, whenever it was: side by side, either may be first, also at taking one of several alike names. */
function gainsOf(played: Played): readonly string[] {
  return played.history.records
    .map(({ kind, path, isFailure, attempts, value }) =>
      JSON.stringify([kind, path, isFailure, attempts, isFailure ? undefined : value]),
    )
    .toSorted();
}

test("the same history and the same end, in memory and replayed at every turn", { timeout }, async () => {
  await fc.assert(
    fc.asyncProperty(wild, async (program) => {
      const warm = await play(program, {});
      const cold = await play(program, { warmRuns: 0 });
      expect(endOf(cold)).toEqual(endOf(warm));
      expect(recordsOf(cold)).toEqual(recordsOf(warm));
    }),
    terms,
  );
});

test("the same end and the same results of orderly programs, whatever happens first and whoever dies", {
  timeout,
}, async () => {
  await fc.assert(
    fc.asyncProperty(orderly, fc.nat(), async (program, seed) => {
      const calm = await play(program, {});
      for (const options of [
        { seed, isShuffled: true, deaths: 0, processes: 3 },
        { seed, isShuffled: true, deaths: 3 },
        { seed, isShuffled: true, deaths: 1, failures: 5 },
        { seed, platform: "node", deaths: 2, batch: 10 },
        { seed, isShuffled: true, deaths: 2, warmRuns: 0, invocation: { maxSteps: 4 } },
      ] as const) {
        const played = await play(program, options);
        expect(endOf(played)).toEqual(endOf(calm));
        expect(gainsOf(played)).toEqual(gainsOf(calm));
      }
    }),
    terms,
  );
});

test("an end that its history explains, of any program, whatever happens first and whoever dies", {
  timeout,
}, async () => {
  await fc.assert(
    fc.asyncProperty(wild, fc.nat(), async (program, seed) => {
      await play(program, { seed, isShuffled: true, deaths: 0, processes: 3, batch: 4 });
      await play(program, { seed, isShuffled: true, deaths: 4 });
      await play(program, { seed, isShuffled: true, failures: 8, processes: 2 });
      await play(program, { seed, isShuffled: true, deaths: 2, platform: "node", batch: 10 });
      await play(program, { seed, isShuffled: true, deaths: 3, warmRuns: 0, invocation: { maxSteps: 4 } });
    }),
    terms,
  );
});
