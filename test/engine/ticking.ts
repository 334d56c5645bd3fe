/** An engine whose ticks a test carries out by hand, with schedules and runs that are due, and a database that may fail. */
import { type Schedule, schedule, workflow } from "layover";
import { v7 } from "uuid";
import type { Query, TurnRef } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { LayoverEvent } from "../../src/engine/events.ts";
import { Registry } from "../../src/engine/registry.ts";
import type { TickAnswer } from "../../src/engine/scheduler/tick.ts";
import type { MostOfTick } from "../../src/engine/scheduler/tick-budget.ts";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";
import type { Clock } from "../postgres/clock.ts";
import type { TestDatabase } from "../postgres/database.ts";

const minute = 60_000;
const noon = Date.UTC(2026, 0, 1, 12);
/** How many schedules a page holds. */
export const page = 500;
export const idle = workflow({ name: "idle", version: 1 });

/** What a test sees of the engine, and what it changes around it. */
interface Stage {
  dispatched: TurnRef[];
  events: LayoverEvent[];
  /** The names of the functions that were called. */
  sent: string[];
  /** How long each firing takes, by the clock of the host. */
  firingMs: number;
  /** Is called before each statement, with the name of its function, its number and its parameter. */
  before: (name: string, number: number, parameter: string) => Promise<void>;
  /** Is called after each statement, before its answer comes. */
  after: Stage["before"];
  /** The timers that the engine has set, which the test fires by hand. */
  readonly timers: Set<() => void>;
}

export let stage: Stage;
export let calls: Calls;
let database: TestDatabase;
let clock: Clock;
/** The time of the hosts and of the database. */
let now: number;
let engine: Engine;
let armed: number[];

/** Begins at noon. Call it before each test. */
export async function begin(on: TestDatabase): Promise<void> {
  database = on;
  clock = await database.turnClock();
  await clock.set(noon);
  now = noon;
  armed = [];
  stage = {
    dispatched: [],
    events: [],
    sent: [],
    firingMs: 0,
    before: async () => {},
    after: async () => {},
    timers: new Set(),
  };
  engine = anEngine();
}

/** Makes an engine of a build. Without an id it is no deployment, and declares nothing. */
export function anEngine(schedules: readonly Schedule[] = [], id?: string): Engine {
  const host = {
    monotonic: () => now,
    after: (_: number, act: () => void) => {
      stage.timers.add(act);
      return () => void stage.timers.delete(act);
    },
  };
  const query = (async (text, parameters) => {
    const name = /layover\.(\w+)/.exec(text)?.[1] ?? "";
    stage.sent.push(name);
    const call = [name, stage.sent.filter((other) => other === name).length, String(parameters?.[0])] as const;
    await stage.before(...call);
    if (name === "fire_schedules") now += stage.firingMs;
    const rows = await database.query(text, parameters);
    await stage.after(...call);
    return rows;
  }) as Query;
  calls = makeCalls({
    query: Object.assign(query, { endpoint: database.query.endpoint }),
    namespace: "default",
    alarm: async (instants) => void armed.push(...instants.map(({ at }) => at)),
    host,
  });
  const dispatch = async (turns: readonly TurnRef[]) => void stage.dispatched.push(...turns);
  const onEvent = (event: LayoverEvent) => void stage.events.push(event);
  const registry = new Registry([idle.handler(async () => {})], schedules);
  const deployment = id === undefined ? undefined : { name: "server", id };
  return new Engine({ calls, dispatch, onEvent, registry, host, ...(deployment && { deployment }) });
}

/** Makes schedules that are all due at one instant, and lets it come. */
export async function due(count: number): Promise<void> {
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

export async function pass(minutes: number): Promise<void> {
  now += minutes * minute;
  await clock.set(now);
}

export async function tick(most?: MostOfTick): Promise<TickAnswer> {
  [stage.sent, stage.dispatched, armed] = [[], [], []];
  return await engine.tick({ most });
}

export async function fired(): Promise<number> {
  const { rows } = await database.pool.query(
    "select count(*)::integer as runs from layover.run where scheduled is not null",
  );
  return rows[0]?.runs;
}

export const errors = () => stage.events.flatMap((event) => (event.kind === "error" ? [event.doing] : []));
export const firings = () => stage.sent.filter((name) => name === "fire_schedules").length;
export const isArmedSoon = () => armed.some((at) => at > now && at <= now + 2 * minute);

/** Has the database refuse to change a schedule of which `condition` is true. SQL about the row `new`. */
export async function refuse(condition: string): Promise<void> {
  await database.pool.query(`create function public.refuse() returns trigger language plpgsql as $$
    begin raise exception 'refused'; end $$`);
  await database.pool.query(`create trigger refusing before update on layover.schedule
    for each row when (${condition}) execute function public.refuse()`);
}

/** Has a function of layover's raise, as one does that a disk or a hand has broken. */
export async function breakDown(name: string, shape: string): Promise<void> {
  await database.pool.query(`create or replace function layover.${name}${shape} language plpgsql as $$
    begin raise exception 'broken'; end $$`);
}

export async function aRunDue(): Promise<string> {
  const runId = v7({ msecs: now });
  await calls.startRun({ runId, workflow: "idle", version: 1, encodedInput: "0{}" });
  await pass(3);
  return runId;
}
