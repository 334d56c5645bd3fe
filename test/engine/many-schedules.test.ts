/** Schedules in great number, and a database that refuses to fire them or to look at runs. Nothing here carries out a run. */
import { type Schedule, schedule, workflow } from "layover";
import { v7 } from "uuid";
import { beforeEach, describe, expect, test } from "vitest";
import type { Query, TurnRef } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { LayoverEvent } from "../../src/engine/events.ts";
import { Registry } from "../../src/engine/registry.ts";
import type { TickAnswer } from "../../src/engine/scheduler/tick.ts";
import type { MostOfTick } from "../../src/engine/scheduler/tick-budget.ts";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";
import type { Clock } from "../postgres/clock.ts";
import { testDatabase } from "../postgres/database.ts";
import { isWhole } from "../size.ts";

const database = testDatabase({ perTest: true });
const minute = 60_000;
const noon = Date.UTC(2026, 0, 1, 12);
/** How many schedules a page holds. */
const page = 500;
const idle = workflow({ name: "idle", version: 1 });

let clock: Clock;
/** The time of the hosts and of the database. */
let now: number;
let calls: Calls;
let engine: Engine;
let armed: number[];
let dispatched: TurnRef[];
let events: LayoverEvent[];
let sent: string[];
/** How long each firing takes, by the clock of the host. */
let firingMs: number;
/** Is called before each statement, with the name of its function, its number and its parameter. */
let before: (name: string, number: number, parameter: string) => Promise<void>;
/** Is called after each statement, before its answer comes. */
let after: typeof before;
/** The timers that the engine has set, which the test fires by hand. */
let timers: Set<() => void>;

beforeEach(async () => {
  clock = await database.turnClock();
  await clock.set(noon);
  now = noon;
  firingMs = 0;
  [before, after] = [async () => {}, async () => {}];
  timers = new Set();
  [armed, dispatched, events, sent] = [[], [], [], []];
  engine = anEngine();
});

/** Makes an engine of a build. Without an id it is no deployment, and declares nothing. */
function anEngine(schedules: readonly Schedule[] = [], id?: string): Engine {
  const host = {
    monotonic: () => now,
    after: (_: number, act: () => void) => {
      timers.add(act);
      return () => void timers.delete(act);
    },
  };
  const query = (async (text, parameters) => {
    const name = /layover\.(\w+)/.exec(text)?.[1] ?? "";
    sent.push(name);
    const call = [name, sent.filter((other) => other === name).length, String(parameters?.[0])] as const;
    await before(...call);
    if (name === "fire_schedules") now += firingMs;
    const rows = await database.query(text, parameters);
    await after(...call);
    return rows;
  }) as Query;
  calls = makeCalls({
    query: Object.assign(query, { endpoint: database.query.endpoint }),
    namespace: "default",
    alarm: async (instants) => void armed.push(...instants.map(({ at }) => at)),
    host,
  });
  const dispatch = async (turns: readonly TurnRef[]) => void dispatched.push(...turns);
  const onEvent = (event: LayoverEvent) => void events.push(event);
  const registry = new Registry([idle.handler(async () => {})], schedules);
  const deployment = id === undefined ? undefined : { name: "server", id };
  return new Engine({ calls, dispatch, onEvent, registry, host, ...(deployment && { deployment }) });
}

/** Makes schedules that are all due at one instant, and lets it come. */
async function due(count: number): Promise<void> {
  const first = schedule({ name: "s00001", every: "1 day", startAt: new Date(noon + minute), start: idle });
  await calls.createSchedule({ name: first.name, definition: { ...first.definition, encodedInput: "0null" } });
  await database.pool.query(
    `insert into layover.schedule
     select (jsonb_populate_record(v, jsonb_build_object('name', 's' || lpad(n::text, 5, '0')))).*
       from layover.schedule v, generate_series(2, $1) as n`,
    [count],
  );
  await pass(2);
}

async function pass(minutes: number): Promise<void> {
  now += minutes * minute;
  await clock.set(now);
}

async function tick(most?: MostOfTick): Promise<TickAnswer> {
  [sent, dispatched, armed] = [[], [], []];
  return await engine.tick({ most });
}

async function fired(): Promise<number> {
  const { rows } = await database.pool.query(
    "select count(*)::integer as runs from layover.run where scheduled is not null",
  );
  return rows[0]?.runs;
}

const errors = () => events.flatMap((event) => (event.kind === "error" ? [event.doing] : []));
const firings = () => sent.filter((name) => name === "fire_schedules").length;
const isArmedSoon = () => armed.some((at) => at > now && at <= now + 2 * minute);

/** Has the database refuse to change a schedule of which `condition` is true. SQL about the row `new`. */
async function refuse(condition: string): Promise<void> {
  await database.pool.query(`create function public.refuse() returns trigger language plpgsql as $$
    begin raise exception 'refused'; end $$`);
  await database.pool.query(`create trigger refusing before update on layover.schedule
    for each row when (${condition}) execute function public.refuse()`);
}

/** Has a function of layover's raise, as one does that a disk or a hand has broken. */
async function breakDown(name: string, shape: string): Promise<void> {
  await database.pool.query(`create or replace function layover.${name}${shape} language plpgsql as $$
    begin raise exception 'broken'; end $$`);
}

async function aRunDue(): Promise<string> {
  const runId = v7({ msecs: now });
  await calls.startRun({ runId, workflow: "idle", version: 1, encodedInput: "0{}" });
  await pass(3);
  return runId;
}

describe("schedules that are due at one instant", () => {
  const count = isWhole ? 10_000 : 1_200;

  test("fire in one tick, a statement each 500", { timeout: 600_000 }, async () => {
    await due(count);
    const { isCutShort } = await tick();
    expect(await fired()).toBe(count);
    expect(new Set(dispatched.map(({ runId }) => runId)).size).toBe(count);
    expect([sent.filter((name) => name === "list_due").length, firings()]).toEqual([1, Math.ceil(count / page)]);
    expect(isCutShort).toBe(false);
    await tick();
    expect(firings()).toBe(0);
  });

  test("fire as far as the tick may dispatch, a page at least, and the rest in the next one", async () => {
    await due(1_200);
    expect((await tick({ turns: 400, groups: 1 })).isCutShort).toBe(true);
    expect(isArmedSoon()).toBe(true);
    expect(await fired()).toBe(1_000);
    expect((await tick({ turns: 400, groups: 1 })).isCutShort).toBe(false);
    expect(await fired()).toBe(1_200);
  });

  test("fire for 40 seconds at most, and the rest comes in the next tick", async () => {
    await due(1_700);
    firingMs = 15_000;
    expect((await tick()).isCutShort).toBe(true);
    expect(isArmedSoon()).toBe(true);
    expect(await fired()).toBe(1_500);
  });

  test("wait for nobody: those that somebody has locked are left to the next tick, and asked for once", async () => {
    await due(600);
    const holder = await database.pool.connect();
    try {
      await holder.query("begin");
      await holder.query("select from layover.schedule where name <= 's00010' for update");
      await tick();
      expect([await fired(), firings()]).toEqual([590, 2]);
      expect(isArmedSoon()).toBe(true);
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    await tick();
    expect(await fired()).toBe(600);
  });
});

describe("a database that refuses to fire", () => {
  test("does not stop runs that are due: they are dispatched, the error is told, and a tick comes within two minutes", async () => {
    await due(3);
    const runId = await aRunDue();
    await breakDown("fire_schedules", "(p jsonb) returns json");
    expect(await tick()).toMatchObject({ due: 1, dispatched: 1 });
    expect(dispatched.map((ref) => ref.runId)).toEqual([runId]);
    expect(errors()).toEqual([
      "firing the schedule s00001",
      "firing the schedule s00002",
      "firing the schedule s00003",
    ]);
    expect(isArmedSoon()).toBe(true);
  });

  test("one schedule fires the others, also those that come after a whole page", async () => {
    await due(1_100);
    await refuse("new.name = 's00007'");
    await tick();
    expect(await fired()).toBe(1_099);
    expect(errors()).toEqual(["firing the schedule s00007"]);
    expect(isArmedSoon()).toBe(true);
  });

  test("any of many is asked some sixty times a tick, and no oftener", async () => {
    await due(1_100);
    await refuse("true");
    await tick();
    expect(firings()).toBeGreaterThanOrEqual(60);
    expect(firings()).toBeLessThan(70);
    expect(isArmedSoon()).toBe(true);
  });

  test("since it cannot compute an instant does not stop runs that are due", async () => {
    await due(1);
    const runId = await aRunDue();
    await breakDown("next_instant", "(name text, definition jsonb, after timestamptz) returns timestamptz");
    await tick();
    expect(dispatched.map((ref) => ref.runId)).toEqual([runId]);
    expect(errors()).toEqual(["firing the schedule s00001"]);
  });
});

describe("a database that does not answer when it fires", () => {
  /** No answer comes, and the time of the tick is over. */
  const silence = async () => {
    await new Promise(setImmediate); // whoever waits has set its timer by then
    for (const act of timers) act();
    await new Promise(() => {});
  };

  test("one schedule fires the others: each half of the page is asked by itself, with a time limit of its own", async () => {
    await due(5);
    const runId = await aRunDue();
    before = async (name, _, parameter) => {
      if (name === "fire_schedules" && JSON.parse(parameter).names.includes("s00002")) await silence();
    };
    expect(await tick()).toMatchObject({ due: 1 });
    expect(await fired()).toBe(4);
    expect(dispatched.map((ref) => ref.runId)).toContain(runId);
    expect(errors()).toEqual(["firing the schedule s00002"]);
    expect(isArmedSoon()).toBe(true);
    before = async () => {};
    await pass(1);
    await tick();
    expect(await fired()).toBe(5);
  });

  test("though it has fired starts no run twice, and all of them are dispatched", async () => {
    await due(5);
    after = async (name, number) => {
      if (name === "fire_schedules" && number === 1) await silence();
    };
    await tick();
    expect(await fired()).toBe(5);
    expect(new Set(dispatched.map(({ runId }) => runId)).size).toBe(5);
    expect(errors()).toEqual([]);
  });
});

describe("a database that cannot list what is due", () => {
  const broken = { runs: "group_size", schedules: "list_due_schedules" } as const;
  const shapes = {
    runs: "(lost integer, spared integer, is_leased boolean) returns integer",
    schedules: "(p jsonb, at timestamptz) returns json",
  } as const;
  const breakList = async (what: "runs" | "schedules") => await breakDown(broken[what], shapes[what]);

  test("since the list of runs fails fires schedules all the same", async () => {
    await due(1_100);
    await aRunDue();
    await breakList("runs");
    await expect(tick()).rejects.toThrow("broken");
    expect(await fired()).toBe(1_100);
    expect([errors(), dispatched.length]).toEqual([[], 1_100]);
    expect(isArmedSoon()).toBe(true);
  });

  test("since the list of schedules fails dispatches runs all the same, and tells of it", async () => {
    await due(3);
    const runId = await aRunDue();
    await breakList("schedules");
    expect(await tick()).toMatchObject({ due: 1, dispatched: 1 });
    expect(dispatched.map((ref) => ref.runId)).toEqual([runId]);
    expect(errors()).toEqual(["looking for what is due", "firing schedules"]);
    expect(isArmedSoon()).toBe(true);
  });

  test("since both lists fail tells of both", async () => {
    await due(3);
    await aRunDue();
    await breakList("runs");
    await breakList("schedules");
    await expect(tick()).rejects.toThrow("broken");
    expect(errors()).toEqual(["firing schedules"]);
    expect(isArmedSoon()).toBe(true);
  });
});

test("a database that refuses to move runs on does not stop schedules", async () => {
  await due(1);
  await aRunDue();
  await breakDown("move_due", "(p jsonb) returns json");
  await expect(tick()).rejects.toThrow("broken");
  expect(await fired()).toBe(1);
});

describe("schedules that code declares", () => {
  const many = (count: number, every: "1 day" | "2 days" = "1 day") =>
    Array.from({ length: count }, (_, index) => schedule({ name: `d${index}`, every, start: idle }));
  const count = isWhole ? 10_000 : 1_200;
  const notes = () => sent.filter((name) => name === "note_deployment").length;
  const defined = async (where = "true") => {
    const { rows } = await database.pool.query(
      `select count(*)::integer as count from layover.schedule v where v.owner = 'server' and ${where}`,
    );
    return rows[0]?.count;
  };
  const daily = "v.definition->>'everyMs' = '86400000'";
  const tickOf = async (build: Engine) => {
    sent = [];
    await build.tick();
  };

  test("are registered by calls of 500 each, and those that are gone are deleted with the last one", {
    timeout: 600_000,
  }, async () => {
    await tickOf(anEngine(many(count), "a"));
    expect([await defined(), notes()]).toEqual([count, 1 + Math.ceil(count / page)]);
    await pass(1);
    await tickOf(anEngine(many(count - 100), "b"));
    expect(await defined()).toBe(count - 100);
    await pass(1);
    await tickOf(anEngine(many(300), "c"));
    expect([await defined(), notes()]).toEqual([300, 1]);
    expect(events).toEqual([]);
  });

  test("are registered from the first on by the next tick if this one dies amid it: until then none is deleted", async () => {
    await tickOf(anEngine(many(1_200), "a"));
    await pass(1);
    const build = anEngine(many(1_100, "2 days"), "b");
    before = async (name, number) => {
      if (name === "note_deployment" && number === 3) throw new Error("the process died");
    };
    await expect(tickOf(build)).rejects.toThrow();
    expect([await defined(), await defined(daily)]).toEqual([1_200, 700]);
    before = async () => {};
    await pass(1);
    await tickOf(build);
    expect([await defined(), await defined(daily)]).toEqual([1_100, 0]);
    await pass(1);
    await tickOf(build);
    expect(notes()).toBe(0);
  });

  test.each(["that is still there", "that has left"])(
    "stay as a newer build says %s, which declares its own amid that",
    async (state) => {
      const older = anEngine(many(1_200), "a");
      before = async (name, number) => {
        if (name !== "note_deployment" || number !== 3) return;
        before = async () => {};
        await pass(1);
        const seen = sent;
        await tickOf(anEngine(many(900, "2 days"), "b"));
        if (state === "that has left")
          await calls.noteDeployment({
            environment: "production",
            deploymentName: "server",
            deployment: "b",
            note: "left",
          });
        sent = seen;
      };
      await tickOf(older);
      expect([await defined(), await defined(daily)]).toEqual([900, 0]);
      await pass(1);
      await tickOf(older);
      expect([await defined(), await defined(daily)]).toEqual(state === "that has left" ? [1_200, 1_200] : [900, 0]);
    },
  );
});
