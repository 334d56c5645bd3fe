/**
 * Each ring uses up one alarm. So whatever comes of its tick, an alarm stands for what is due next: also where it fails, and
 * where it rang too early. (Platforms may ring again by themselves, or not.)
 */

import { expect, test } from "vitest";
import { type Dispatch, type Query, QueryError } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import { Registry } from "../../src/engine/registry.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import { newestMigration } from "../../src/postgres/schema-fit.ts";

const noon = Date.UTC(2026, 0, 1, 12);
const minute = 60_000;

interface Found {
  /** The SQL function whose calls break. */
  readonly fails?: string;
  readonly runs?: readonly object[];
  /** Whether it is the first tick of a deployment. */
  readonly isNew?: boolean;
  /** What the others are due at. */
  readonly nextDueAt?: number | null;
  /** How many were woken since: by the first move, and by the second. */
  readonly left?: readonly number[];
  /** Which runs somebody has locked when they are moved for the first time. */
  readonly locked?: readonly string[];
  /** Whether they are locked still when the tick has waited for them. */
  readonly staysLocked?: boolean;
  /** How many runs each slice of pruning deletes, and how long it takes. Then none. */
  readonly pruned?: readonly number[];
  readonly pruningMs?: number;
}

function anEngine(found: Found) {
  const { fails, runs = [], nextDueAt = null, left = [], locked = [], staysLocked = false } = found;
  const { isNew = false, pruned = [], pruningMs = 0 } = found;
  const slices = [...pruned];
  let monotonic = 0;
  const armed: number[] = [];
  const events: string[] = [];
  const moves = left.map((number, place) => ({ left: number, locked: place === 0 ? locked : [] }));
  const answers: Readonly<Record<string, object>> = {
    read_clock: { now: noon, migration: newestMigration },
    list_due: { now: noon, isOurs: true, isNew, runs, nextDueAt },
  };
  const answer = async (text: string, [parameter]: readonly unknown[] = []) => {
    const name = /layover\.(\w+)/.exec(text)?.[1] ?? "";
    if (name === fails) throw new QueryError("no such function", { sqlState: "42883", isRolledBack: true });
    if (name === "prune_runs") {
      events.push(name);
      monotonic += pruningMs;
      const pruned = slices.shift() ?? 0;
      return [{ answer: { pruned, isMore: pruned === 500 } }];
    }
    if (name !== "move_due") return [{ answer: answers[name] }];
    const soonAt = /"soonAt":(\d+)/.exec(String(parameter))?.[1];
    const isPatient = soonAt === undefined && !String(parameter).includes("skipsLocked");
    if (isPatient && staysLocked) throw new QueryError("lock timeout", { sqlState: "55P03", isRolledBack: true });
    events.push(soonAt === undefined ? `${name}${isPatient ? " patiently" : ""}` : `${name} to ${soonAt}`);
    return [{ answer: moves.shift() }];
  };
  const query: Query = Object.assign(answer, { endpoint: "here" });
  const host = { monotonic: () => monotonic, after: () => () => {} };
  const calls = makeCalls({
    query,
    namespace: "default",
    alarm: async (instants) => {
      for (const { at } of instants) {
        armed.push(at);
        events.push(`arm ${at}`);
      }
    },
    host,
  });
  const dispatch: Dispatch = async (turns) =>
    void events.push(["dispatch", ...turns.map(({ runId }) => runId)].join(" "));
  return { armed, events, calls, engine: new Engine({ calls, dispatch, registry: new Registry([]), host }) };
}

test.each(["list_due", "prune_runs"])(
  "a tick whose %s fails leaves an alarm that rings within a minute",
  async (name) => {
    const { engine, armed } = anEngine({ fails: name });
    await expect(engine.tick()).rejects.toThrow("no such function");
    expect(armed).toEqual([noon + minute]);
  },
);

test("a tick that never heard from the database fails, and can arm nothing", async () => {
  const { engine, armed } = anEngine({ fails: "read_clock" });
  await expect(engine.tick()).rejects.toThrow("no such function");
  expect(armed).toEqual([]);
});

test("a tick arms what is due next, and again if it rang for that too early, by a clock that is ahead", async () => {
  const { engine, armed } = anEngine({ nextDueAt: noon + 1_000 });
  await engine.tick();
  await engine.tick();
  expect(armed).toEqual([noon + 1_000, noon + 1_000]);
});

test("a tick arms before it moves, and once more before it moves what was woken since it looked", async () => {
  const run = {
    runId: "r",
    turn: 1,
    dispatches: 1,
    isReady: true,
    isUnfinished: false,
    groupSize: null,
    nextAt: null,
    branches: null,
  };
  const { engine, events } = anEngine({ runs: [{ ...run, dueAt: noon + 30_000 }], left: [1, 0] });
  await engine.tick();
  const [backoff, soon] = [noon + 2 * minute, noon + minute];
  expect(events).toEqual([
    `arm ${backoff}`,
    "move_due",
    `arm ${soon}`,
    `move_due to ${soon}`,
    "dispatch r",
    "prune_runs",
  ]);
});

test.each([
  ["a lease ends", { isUnfinished: true, nextAt: noon + 10 * minute }, noon + 10 * minute],
  ["a run is ready", { nextAt: noon + 7 * 24 * 60 * minute }, noon + 7 * 24 * 60 * minute],
  ["a motion minute, for what is ready before that", { nextAt: noon + 20_000 }, noon + minute],
])("a tick that dispatches nothing of a run arms when %s, and moves it there", async (_, more, dueAt) => {
  const run = {
    runId: "r",
    turn: 1,
    dispatches: 0,
    isReady: false,
    isUnfinished: false,
    groupSize: null,
    branches: null,
    dueAt: noon,
  };
  const { engine, events } = anEngine({ runs: [{ ...run, ...more }], left: [0] });
  await engine.tick();
  expect(events.slice(0, 2)).toEqual([`arm ${dueAt}`, "move_due"]);
});

test("a tick dispatches in groups of their size what may have ended its process, and the others together", async () => {
  const run = { turn: 1, dispatches: 0, isReady: true, nextAt: null, branches: null, dueAt: noon };
  const sizes = { a: null, b: 4, c: 1, d: null, e: 4, f: 4, g: 4, h: 4, i: 1 };
  const runs = Object.entries(sizes).map(([runId, groupSize]) => ({ ...run, runId, isUnfinished: true, groupSize }));
  const { engine, events } = anEngine({ runs, left: [0] });
  await engine.tick();
  expect(events.slice(2, 7)).toEqual(["dispatch a d", "dispatch b e f g", "dispatch h", "dispatch c", "dispatch i"]);
});

test("a tick does not arm again what is not about to ring", async () => {
  const { engine, armed } = anEngine({ nextDueAt: noon + 2 * minute });
  await engine.tick();
  await engine.tick();
  expect(armed).toEqual([noon + 2 * minute]);
});

test("a tick waits for a run that somebody has locked only after it has dispatched the others", async () => {
  const run = { turn: 1, dispatches: 0, isReady: true, isUnfinished: false, nextAt: null, branches: null, dueAt: noon };
  const runs = ["a", "b", "c"].map((runId) => ({ ...run, runId }));
  const { engine, events } = anEngine({ runs, left: [0, 0], locked: ["b"] });
  await engine.tick();
  const arm = `arm ${noon + minute}`;
  expect(events).toEqual([arm, "move_due", "dispatch a c", "move_due patiently", "dispatch b", "prune_runs"]);
});

test("a tick that has waited for a locked run in vain goes on, and leaves an alarm that rings within a minute", async () => {
  const run = { turn: 1, dispatches: 1, isReady: true, isUnfinished: false, nextAt: null, branches: null, dueAt: noon };
  const runs = ["a", "b"].map((runId) => ({ ...run, runId }));
  const { engine, events } = anEngine({ runs, left: [0], locked: ["b"], staysLocked: true });
  await engine.tick();
  expect(events.slice(2)).toEqual(["dispatch a", `arm ${noon + minute}`, "prune_runs"]);
});

test("a tick for an earlier time of the database's clock is repeated, if somebody has locked a run of it", async () => {
  const run = { turn: 1, dispatches: 1, isReady: true, isUnfinished: false, nextAt: null, branches: null };
  const runs = [{ ...run, runId: "a", dueAt: noon + 4 * minute }];
  for (const [staysLocked, readyUntil] of [
    [true, noon + 5 * minute],
    [false, 0],
  ] as const) {
    const { engine, calls } = anEngine({ runs, left: [0, 0], locked: ["a"], staysLocked });
    calls.clock.readyUntil = noon + 5 * minute;
    await engine.tick();
    expect(calls.clock.readyUntil).toBe(readyUntil);
  }
});

test.each([
  [true, undefined],
  [false, "a"],
])(
  "a first tick that had no room for all goes on behind the last one, unless somebody has locked a run (%s)",
  async (staysLocked, triedThrough) => {
    const run = {
      turn: 1,
      dispatches: 0,
      isReady: true,
      isUnfinished: false,
      nextAt: null,
      branches: null,
      dueAt: null,
    };
    const runs = ["a", "b"].map((runId) => ({ ...run, runId }));
    const { engine } = anEngine({ runs, isNew: true, left: [0, 0], locked: ["a"], staysLocked });
    expect(await engine.tick({ most: { turns: 1, groups: 1 } })).toMatchObject({ hasSeenAll: false, triedThrough });
  },
);

test.each([
  [null, false],
  [noon + 2 * minute, false],
  [noon + minute, true],
  [noon, true],
])(
  "a first tick that has left a run locked has seen all only if the next one finds that run: due at %s",
  async (dueAt, hasSeenAll) => {
    const run = { turn: 1, dispatches: 0, isReady: true, isUnfinished: false, nextAt: null, branches: null };
    const runs = [
      { ...run, runId: "a", dueAt: noon },
      { ...run, runId: "b", dueAt },
    ];
    const { engine } = anEngine({ runs, isNew: true, left: [0], locked: ["a", "b"], staysLocked: true });
    expect(await engine.tick()).toMatchObject({ hasSeenAll });
  },
);

test("a tick prunes slice by slice until none is left", async () => {
  const { engine, events, armed } = anEngine({ pruned: [500, 500, 499], pruningMs: 1_000 });
  await engine.tick();
  expect(events).toEqual(["prune_runs", "prune_runs", "prune_runs"]);
  expect(armed).toEqual([]);
});

test("a tick that has pruned for five seconds leaves the rest to the next minute's", async () => {
  const { engine, events } = anEngine({ pruned: Array(100).fill(500), pruningMs: 1_000 });
  await engine.tick();
  expect(events).toEqual([...Array(5).fill("prune_runs"), `arm ${noon + 2 * minute}`]);
});
