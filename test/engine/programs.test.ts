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
import { programContract, type SignalName, signalNames } from "../simulation/programs/contract.ts";
import { offspringWorkflow } from "../simulation/programs/invoke.ts";
import {
  allows,
  type Facts,
  mayWait,
  orderly,
  outcomeOf,
  type Program,
  type ProgramWorld,
  playing,
  wild,
} from "../simulation/programs/program.ts";
import { isWhole, testSeed } from "../size.ts";
import { insist, Outsiders } from "./outsiders.ts";
import { endings } from "./replaying.ts";
import { World } from "./world.ts";
import type { WorldOptions } from "./world-options.ts";

const database = testDatabase();

const seed = Number(process.env["PROGRAMS_SEED"] ?? testSeed ?? 20_261_120);
const numRuns = Number(process.env["PROGRAMS_RUNS"] ?? (isWhole ? 25 : 15));
const terms = { seed, numRuns, endOnFailure: false } as const;
const timeout = numRuns * 10_000;

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

const earlySignals: readonly SignalName[] = ["red", "green", "red", "blue", "green", "red"];

async function play(program: Program, { deaths, failures, ...options }: PlayOptions): Promise<Played> {
  const bodies: ProgramWorld = {
    onBody: () => {},
    nextTry: () => 1,
    beckon: () => {},
    die: () => world.die(),
    foreign: (ms) => world.foreign(ms),
    invite: (invitation) => outsiders.invite(invitation),
  };
  const workflow = programContract.handler(playing(program, bodies));
  const world: World = await World.begin(database, { ...options, workflows: [workflow, offspringWorkflow] });
  const outsiders = new Outsiders(world);
  try {
    makeTrouble(world, { deaths, failures });
    await insist(() => world.start(programContract, undefined, { runId }));
    for (const name of earlySignals) {
      await world.pass(25_000);
      if ((await world.get(runId)).endedAt !== undefined) break;
      await outsiders.answer();
      await outsiders.send({ runId }, name);
    }
    while (await restsUnended(world, outsiders)) {
      expect(mayWait(program, outsiders.facts)).toBe(true);
      for (const name of signalNames) await outsiders.send({ runId }, name);
    }
    const view = await world.get(runId);
    const history = await world.history({ runId });
    await expectSound(world, workflow, { view, history });
    expectRight(program, outsiders.facts, { view, history });
    return { view, history };
  } finally {
    await world.end();
  }
}

/** Lets time pass until the run is over, or waits for nothing but signals. Answers whether it waits. */
async function restsUnended(world: World, outsiders: Outsiders): Promise<boolean> {
  for (let ms = 10_000; ; ) {
    const { status, blocked } = await world.get(runId);
    if (status === "completed" || status === "failed" || blocked !== undefined) return false;
    const { pending } = await world.history({ runId });
    const isIdle = pending.length > 0 && pending.every(({ kind, until }) => kind === "signal" && until === undefined);
    if (isIdle && status === "waiting") return true;
    const { invocations } = world;
    await world.pass(Math.max(0, Math.min(ms, outsiders.next - world.time)));
    await outsiders.answer();
    ms = world.invocations === invocations ? Math.min(2 * ms, 3_600_000) : 10_000;
  }
}

/** Has calls fail and processes die, at calls drawn from the world's own chance. */
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

/** Expects what holds of every run that is over. */
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

/** Expects that the run ended as it may, and took the signals of each name in the order in which they were sent. */
function expectRight(program: Program, facts: Facts, { view, history }: Played): void {
  const outcome = outcomeOf(view);
  expect(outcome && allows(program, outcome, facts), JSON.stringify({ outcome, facts })).toBe(true);
  for (const signal of signalNames) {
    const sent = facts.signals.filter(({ name }) => name === signal).map(({ payload }) => payload);
    const taken = history.records.filter(({ kind, path, value }) => isTaken(kind, value) && path.endsWith(signal));
    expect(taken.map(({ value }) => value)).toEqual(sent.slice(0, taken.length));
  }
}

function isTaken(kind: string, value: unknown): boolean {
  return kind === "signal" && value !== undefined && value !== null;
}

/** Answers how the run ended; an error without its stack. */
function endOf({ view: { status, result, error } }: Played): unknown {
  return { status, result, error: error && `${error.name}: ${error.message}` };
}

/** Answers all of the history but the stacks of errors. */
function recordsOf({ history }: Played): readonly unknown[] {
  return history.records.map(({ kind, value, isFailure, beganAt, recordedAt, ...record }) => ({
    ...{ kind, ...record },
    recordedAt: recordedAt.getTime(),
    beganAt: beganAt?.getTime(),
    value: isFailure ? sayingOf(value) : kind === "ending" ? endingOf(value) : value,
  }));
}

function sayingOf(error: unknown): string {
  return `${Reflect.get(Object(error), "name")}: ${Reflect.get(Object(error), "message")}`;
}

/** Answers the value of a record `ending` without the stack of its error: how the run ends, and which undos it owes. */
function endingOf(value: unknown): unknown {
  return { ...Object(value), error: sayingOf(Reflect.get(Object(value), "error")) };
}

/**
 * Answers what was recorded, without its order. Things side by side may be recorded in any order, and may take
 * occurrences of one name in any order.
 */
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
