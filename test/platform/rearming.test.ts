/**
 * Processes that were struck from the list and live on, over a network and to a database that are cut by hand: what a call
 * leans on rings in processes that are listed. The database is a real one, and its clock is turned.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Query, QueryError } from "../../src/core/ports.ts";
import type { ArmMessage, Peer } from "../../src/http/arm.ts";
import { Neighbours } from "../../src/platform/node/neighbours/neighbours.ts";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";
import { Timers } from "../../src/testing/timers.ts";
import type { Clock } from "../postgres/clock.ts";
import { testDatabase } from "../postgres/database.ts";

const database = testDatabase();
const noon = Date.UTC(2026, 0, 1, 12);
const minute = 60_000;
const place = { environment: "production", versions: { order: [1] } };
const wakesAt = noon + 60 * minute;

let clock: Clock;
let time: number;
let processes: Member[];
let namespaces = 0;
let namespace: string;
/** Statements that have no answer yet. */
let underWay: number;

beforeEach(async () => {
  clock = await database.turnClock();
  await clock.set(noon);
  [time, processes, underWay] = [0, [], 0];
  namespaces += 1;
  namespace = `shop-${namespaces}`;
});
afterEach(() => {
  processes = [];
});

/** One process of several, whose parts are the real ones. */
class Member {
  readonly id: string;
  readonly timers = new Timers(() => time);
  readonly calls: Calls;
  readonly neighbours: Neighbours;
  readonly statements: string[] = [];
  /** The instants at which it rings, by the database's clock. */
  readonly alarms = new Set<number>();
  state: "runs" | "is frozen" | "is dead" = "runs";
  reaches = { network: true, database: true };

  constructor(number: number) {
    this.id = `00000000-0000-7000-8000-00000000000${number}`;
    const self = { id: this.id, door: this.id, versions: place.versions };
    this.neighbours = new Neighbours({
      self,
      alarm: async (instants) => {
        for (const { inMs } of instants) this.#armIn(inMs);
      },
      send: async (to, message) => await this.#send(to, message),
      list: async (call) => await this.calls.noteProcess({ ...call, ...self, environment: place.environment }),
      ring: () => void this.tick(),
      lookAhead: () => void this.tick(),
      onError: () => {},
      host: this.timers,
    });
    this.calls = makeCalls({
      query: Object.assign(async (...call: Parameters<Query>) => await this.#ask(...call), { endpoint: "db/main" }),
      namespace,
      alarm: this.neighbours.arm,
      ringers: this.neighbours,
      host: this.timers,
    });
  }

  /** As an engine does: lists what is due, and arms what comes next. */
  async tick(): Promise<void> {
    if (this.state !== "runs" || !this.reaches.database) return;
    await this.neighbours.refresh();
    const { nextDueAt } = await this.calls.listDue({ ...place, limit: 500 });
    this.calls.alarms.forgetWithin(minute);
    if (nextDueAt !== null) await this.calls.alarms.arm([nextDueAt]);
  }

  /** Somebody starts a run by it that is to begin later. */
  async start(startAt = wakesAt): Promise<void> {
    const call = { runId: crypto.randomUUID(), workflow: "order", version: 1, encodedInput: "0null", startAt };
    await this.calls.startRun(call);
  }

  /** Whether it rings when the run is to begin, or up to two minutes later. */
  get isReady(): boolean {
    return this.state === "runs" && [...this.alarms].some((at) => at >= wakesAt && at <= wakesAt + 2 * minute);
  }

  #armIn(ms: number): void {
    const at = noon + time + ms;
    this.alarms.add(at);
    this.timers.after(ms, () => {
      this.alarms.delete(at);
      void this.tick();
    });
  }

  async #send(to: Peer, message: ArmMessage): Promise<void> {
    const other = processes.find(({ id }) => id === to.door);
    const isReached = this.reaches.network && other?.reaches.network === true && other.state === "runs";
    if (!isReached) throw new Error("no answer");
    await other.neighbours.receive(message);
  }

  async #ask(...[text, parameters]: Parameters<Query>) {
    if (!this.reaches.database) throw new QueryError("no route", { sqlState: "08006", isRolledBack: true });
    this.statements.push(text);
    underWay += 1;
    try {
      return await database.query(text, parameters);
    } finally {
      underWay -= 1;
    }
  }
}

async function settle(): Promise<void> {
  for (let quiet = 0; quiet < 10; quiet = underWay === 0 ? quiet + 1 : 0) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function pass(ms: number): Promise<void> {
  const until = time + ms;
  for (;;) {
    const running = processes.filter(({ state }) => state === "runs");
    const next = Math.min(until, ...running.map(({ timers }) => timers.next ?? until));
    time = Math.max(time, next);
    await clock.set(noon + time);
    const due = running.filter(({ timers }) => (timers.next ?? until + 1) <= time);
    if (due.length === 0) return;
    for (const { timers } of due) timers.fire();
    await settle();
  }
}

/** So many processes that know each other. */
async function some(count: number): Promise<readonly Member[]> {
  for (let number = 1; number <= count; number += 1) {
    const member = new Member(number);
    processes.push(member);
    member.neighbours.begin();
    await member.tick();
    await settle();
  }
  await pass(minute);
  return processes;
}

async function listed(): Promise<readonly string[]> {
  const rows = await database.query("select id from layover.process where namespace = $1 order by id", [namespace]);
  return rows.map((row) => String(row["id"]));
}

test("what a process armed that was frozen while its neighbour died, and that dies itself before it knows, rings in a third one", async () => {
  const [a, b, c] = await some(3);
  if (a === undefined || b === undefined || c === undefined) throw new Error("there are three");
  await a.start(); // its instant stands here and in b
  a.state = "is frozen";
  b.state = "is dead";
  await pass(6 * minute);
  expect(await listed()).toEqual([c.id]);
  c.alarms.clear(); // and whatever it had looked up is in the past
  a.state = "runs";
  await a.start();
  await settle();
  a.state = "is dead";
  expect(c.isReady).toBe(true);
  expect(await listed()).toEqual([a.id, c.id]);
});

test("a process that was struck and is back at the database, but not in the network, is known again to whoever arms something", async () => {
  const [a, b, c] = await some(3);
  if (a === undefined || b === undefined || c === undefined) throw new Error("there are three");
  a.reaches = { network: false, database: false };
  await pass(6 * minute);
  expect(await listed()).toEqual([b.id, c.id]);
  a.reaches = { network: false, database: true };
  await pass(6 * minute); // to it the others are silent, so it strikes them
  expect(await listed()).toEqual([a.id]);
  await b.start(wakesAt + 60 * minute);
  await pass(3 * minute);
  expect(await listed()).toEqual([a.id, b.id, c.id]);
  await a.start();
  await settle();
  a.state = "is dead";
  await pass(2 * minute);
  expect(b.isReady).toBe(true);
});

test("a call whose processes are all listed sends nothing more", async () => {
  const [a] = await some(2);
  if (a === undefined) throw new Error("there are two");
  await a.start();
  a.statements.length = 0;
  await a.start();
  expect(a.statements).toEqual(["select layover.start_run($1) as answer"]);
});
