/** Two deployments on one database, each with alarms and dispatches of its own, as on two clouds. Each has code that the other lacks. */
import { setImmediate as nextRound } from "node:timers/promises";
import { expect, test } from "vitest";
import { Client } from "../../src/client/over-postgres/client.ts";
import { upgradeRun } from "../../src/client/over-postgres/upgrades.ts";
import { type Workflow, workflow } from "../../src/core/contract/contract.ts";
import type { TurnRef } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import { Registry } from "../../src/engine/registry.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import type { Clock } from "../postgres/clock.ts";
import { testDatabase } from "../postgres/database.ts";

const database = testDatabase();
const minute = 60_000;
/** The hosts' own clock stands still: they know the time by the database's answers alone, however slow this machine is. */
const stillClock = { monotonic: () => 0, after: () => () => {} };

const ours = workflow({ name: "ours", version: 1 });
const theirs = workflow({ name: "theirs", version: 1 });
const shared = workflow({ name: "shared", version: 1 });

interface Host {
  readonly address: string;
  readonly engine: Engine;
  readonly client: Client;
  /** The instants that it has armed. */
  readonly armed: Set<number>;
  /** The turns that it has dispatched, and that nobody has carried out yet. */
  turns: TurnRef[];
  /** Those that it has dispatched for later, and for when. */
  later: { readonly turn: TurnRef; readonly at: number }[];
  readonly errors: string[];
  isDown: boolean;
  /** How often others have rung here. */
  rung: number;
  /** A ring here is answered when this has resolved. */
  answersAfter: Promise<void>;
  /** How many of its calls of the database have not been answered. */
  underWay: number;
}

class TwoClouds {
  readonly namespace = crypto.randomUUID();
  readonly clock: Clock;
  readonly #hosts: Host[] = [];

  constructor(clock: Clock) {
    this.clock = clock;
  }

  host(name: string, workflows: readonly Workflow[], { id = name } = {}): Host {
    const { namespace } = this;
    const armed = new Set<number>();
    const dispatch = async (turns: readonly TurnRef[], delayMs: number) => {
      const at = (await this.clock.now()) + delayMs;
      if (delayMs > 0) host.later.push(...turns.map((turn) => ({ turn, at })));
      else host.turns.push(...turns);
    };
    const alarm = async (instants: readonly { readonly at: number }[]) => {
      for (const { at } of instants) armed.add(at);
    };
    const counted = (...call: Parameters<typeof database.query>) => {
      host.underWay += 1;
      return database.query(...call).finally(() => (host.underWay -= 1));
    };
    const query = Object.assign(counted, { endpoint: database.query.endpoint });
    const calls = makeCalls({ query, namespace, alarm, host: stillClock });
    const address = `https://${name}.example`;
    const errors: string[] = [];
    const engine = new Engine({
      calls,
      dispatch,
      registry: new Registry(workflows),
      host: stillClock,
      deployment: { name, id, wakeAddress: address },
      onError: (error) => errors.push(String(error)),
      ringAt: async (address, readyUntil) => {
        const rung = this.#hosts.findLast((other) => other.address === address);
        if (rung === undefined || rung.isDown) throw new Error(`nobody is at ${address}`);
        if (++rung.rung > 100) throw new Error(`${address} is rung without end`);
        await rung.answersAfter;
        await rung.client.ring(readyUntil);
      },
    });
    const wake = async (readyUntil?: number) =>
      void (await engine.tick({ readyUntil, isRung: readyUntil !== undefined }));
    const client = new Client({ calls, dispatch, wake });
    const host: Host = {
      ...{ address, engine, client, armed, turns: [], later: [], errors },
      ...{ isDown: false, rung: 0, answersAfter: Promise.resolve(), underWay: 0 },
    };
    this.#hosts.push(host);
    return host;
  }

  async dueAt(runId: string): Promise<number | null> {
    const statement = "select layover.to_ms(due_at) as at from layover.run_state where run_id = $1";
    const [row] = await database.query(statement, [runId]);
    return row?.["at"] == null ? null : Number(row["at"]);
  }
}

/** Carries out what was dispatched, until nothing is left. */
async function settle(host: Host): Promise<void> {
  while (host.turns.length > 0) await host.engine.carryOut(host.turns.splice(0));
}

const nothing = async () => {};

/** `id`: of both builds. */
async function begin({ id }: { readonly id?: string } = {}) {
  const clock = await database.turnClock();
  const clouds = new TwoClouds(clock);
  const here = clouds.host("here", [ours.handler(nothing), shared.handler(nothing)], id === undefined ? {} : { id });
  const there = clouds.host(
    "there",
    [theirs.handler(nothing), shared.handler(nothing)],
    id === undefined ? {} : { id },
  );
  await here.engine.tick();
  await there.engine.tick();
  return { clouds, clock, here, there };
}

test("a run that only another deployment carries is handed to it at once, and is due when that one has armed for it", async () => {
  const { clouds, here, there } = await begin();
  const { runId } = await here.client.start(theirs);
  const dueAt = await clouds.dueAt(runId);
  expect([...here.armed]).toContain(dueAt);
  await settle(here);
  expect(there.turns).toEqual([{ runId, turn: 1 }]);
  expect([...there.armed]).toContain(await clouds.dueAt(runId));
  await settle(there);
  expect(await here.client.get(runId)).toMatchObject({ status: "completed" });
  expect([here.errors, there.errors]).toEqual([[], []]);
});

test("two hosts that give their builds one id, as that of a commit, are told apart", async () => {
  const { clouds, clock, here, there } = await begin({ id: "1f2e3d" });
  const { runId } = await here.client.start(theirs);
  await settle(here);
  expect(there.turns).toEqual([{ runId, turn: 1 }]);
  const later = await here.client.start(theirs, undefined, { delay: "1 hour" });
  await clock.set((await clouds.dueAt(later.runId)) ?? 0);
  here.turns = [];
  await here.engine.tick();
  expect([...there.armed]).toContain(await clouds.dueAt(later.runId));
});

test("a dispatch that is lost is made up for when the alarm rings where it was armed", async () => {
  const { clouds, clock, here, there } = await begin();
  const { runId } = await here.client.start(theirs);
  here.turns = [];
  await clock.set((await clouds.dueAt(runId)) ?? 0);
  await here.engine.tick();
  expect(there.turns).toEqual([{ runId, turn: 1 }]);
  expect([...there.armed]).toContain(await clouds.dueAt(runId));
});

test("a deployment that does not answer is rung again, after one to ten minutes, and nothing else is asked for it", async () => {
  const { clouds, clock, here, there } = await begin();
  const { runId } = await here.client.start(theirs);
  there.isDown = true;
  await settle(here);
  expect(here.errors).toEqual(["Error: nobody is at https://there.example"]);
  const dueAt = (await clouds.dueAt(runId)) ?? 0;
  let now = dueAt;
  const pauses: number[] = [];
  while (now < dueAt + 60 * minute) {
    await clock.set(now);
    here.armed.clear();
    await here.engine.tick();
    const next = Math.min(...[...here.armed].filter((at) => at > now));
    pauses.push((next - now) / minute);
    now = next;
  }
  expect(pauses.slice(0, 4)).toEqual([1, 1, 2, 4]);
  expect(new Set(pauses.slice(4))).toEqual(new Set([8, 10]));
  expect(here.turns).toEqual([]);
  there.isDown = false;
  await here.engine.tick();
  expect(there.turns).toEqual([{ runId, turn: 1 }]);
});

/** Waits until each call of the database that this host has sent is answered. */
async function answered(host: Host): Promise<void> {
  do await nextRound();
  while (host.underWay > 0);
}

test("many runs are two rings: those that are found while the first is under way wait for the second", async () => {
  const { here, there } = await begin();
  for (let index = 0; index < 50; index += 1) await here.client.start(theirs);
  const groups = Array.from({ length: 10 }, () => here.turns.splice(0, 5));
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  there.answersAfter = promise;
  const carriedOut = Promise.all(groups.map((turns) => here.engine.carryOut(turns)));
  await answered(here);
  expect(there.rung).toBe(1);
  answer();
  await carriedOut;
  expect(there.rung).toBe(2);
  expect(new Set(there.turns.map(({ runId }) => runId)).size).toBe(50);
});

test("nobody is rung for what this deployment carries, or what nobody carries", async () => {
  const { clouds, clock, here, there } = await begin();
  await here.client.start(shared);
  await settle(here);
  const { runId } = await here.client.start(workflow({ name: "nobody's", version: 1 }));
  await settle(here);
  await clock.set((await clouds.dueAt(runId)) ?? 0);
  await here.engine.tick();
  expect(there.rung).toBe(0);
});

test("a build that is not live any more is not rung", async () => {
  const { clouds, clock, here } = await begin();
  for (const id of ["two", "three"]) {
    await clock.advance(minute);
    await clouds.host("there", [shared.handler(nothing)], { id }).engine.tick();
  }
  await here.client.start(theirs);
  await settle(here);
  expect(here.errors).toEqual([]);
});

test("two hosts whose new builds lack what their old ones had do not ring at each other without end", async () => {
  const { clouds, clock, here: was, there: other } = await begin();
  const { runId } = await was.client.start(shared, undefined, { delay: "1 hour" });
  await clock.advance(minute);
  const [here, there] = [was, other].map(({ address }) =>
    clouds.host(new URL(address).hostname.split(".")[0] ?? "", [], { id: "two" }),
  );
  await here?.engine.tick();
  await there?.engine.tick();
  await clock.set((await clouds.dueAt(runId)) ?? 0);
  await here?.engine.tick();
  expect([here?.rung, there?.rung]).toEqual([0, 1]);
});

test("where two builds of a host live and the ring comes to the one without the code, that host rings again itself", async () => {
  const { clouds, clock, here, there } = await begin();
  const { runId } = await here.client.start(theirs);
  const beside = clouds.host("there", [shared.handler(nothing)], { id: "two" });
  await beside.engine.tick();
  beside.armed.clear();
  await settle(here);
  expect([beside.rung, beside.turns]).toEqual([1, []]);
  const dueAt = (await clouds.dueAt(runId)) ?? 0;
  await clock.set(dueAt);
  await here.engine.tick();
  const first = Math.min(...[...beside.armed].filter((at) => at > dueAt));
  expect(first - dueAt).toBe(minute);
  await clock.set(first);
  beside.armed.clear();
  await beside.engine.tick(); // its alarm came to this build again
  expect(Math.min(...[...beside.armed].filter((at) => at > first)) - first).toBe(minute);
  await there.engine.tick(); // and then to the other one
  expect(there.turns).toEqual([{ runId, turn: 1 }]);
});

test("a run that this deployment has refused goes on where the code fits", async () => {
  const clock = await database.turnClock();
  const clouds = new TwoClouds(clock);
  const here = clouds.host("here", [shared.handler(async ({ step }) => void (await step.run("old", () => 1)))]);
  const there = clouds.host("there", [
    shared.handler(async ({ step }) => {
      await step.run("new", () => 1);
      await step.sleep("nap", "10 minutes");
      await step.run("end", () => 2);
    }),
  ]);
  await here.engine.tick();
  await there.engine.tick();
  const { runId } = await there.client.start(shared);
  await settle(there);
  await clock.advance(11 * minute);
  await here.engine.tick(); // it carries the version, so it takes the turn
  await settle(here);
  expect(there.turns).toMatchObject([{ runId }]);
  await settle(there);
  expect(await there.client.get(runId)).toMatchObject({ status: "completed" });
});

test("a run that is moved to a version which only another deployment carries is due there at once", async () => {
  const clock = await database.turnClock();
  const clouds = new TwoClouds(clock);
  const nap = [1, 2].map((version) => workflow({ name: "nap", version }));
  const [here, there] = nap.map((contract, index) =>
    clouds.host(`nap-${index}`, [contract.handler(({ step }) => step.sleep("nap", "1 hour"))]),
  );
  if (here === undefined || there === undefined || nap[0] === undefined) throw new Error("two hosts are there");
  await here.engine.tick();
  await there.engine.tick();
  const { runId } = await here.client.start(nap[0]);
  await settle(here);
  const looked = { from: 1, to: 2, epoch: 0, turn: 2, position: 0, lastMail: 0, signature: "two" };
  await here.client.within((context) => upgradeRun(context, runId, looked));
  const soonAt = (await clouds.dueAt(runId)) ?? 0;
  expect([...here.armed]).toContain(soonAt);
  await clock.set(soonAt);
  await here.engine.tick();
  const dueAt = (await clouds.dueAt(runId)) ?? 0;
  expect(dueAt).toBeGreaterThan(soonAt + 50 * minute);
  expect([...there.armed]).toContain(dueAt);
  await clock.set(dueAt + minute);
  await there.engine.tick();
  await settle(there);
  expect(await here.client.get(runId)).toMatchObject({ status: "completed", version: 2 });
});

test("a thousand runs in flight go on at another host, once theirs is gone and that one was woken", {
  timeout: 120_000,
}, async () => {
  const clock = await database.turnClock();
  const clouds = new TwoClouds(clock);
  const count = 1_000;
  let now = await clock.now();
  const lateMs: number[] = [];
  const nap = shared.handler(async ({ step }) => {
    await step.run("before", nothing);
    const until = step.now().getTime() + Math.round(step.random() * 60) * minute;
    await step.sleepUntil("nap", until);
    await step.run("after", async () => void lateMs.push(now - until));
  });
  const [was, will] = ["was", "will"].map((name) => clouds.host(name, [nap]));
  if (was === undefined || will === undefined) throw new Error("there are no hosts");
  await was.engine.tick();
  await will.engine.tick();
  for (let index = 0; index < count; index += 1) await was.client.start(shared);
  await settle(was);
  // From here on nothing that the first host has armed or dispatched ever comes.
  was.isDown = true;
  await will.client.wake();
  await settle(will);
  while (lateMs.length < count) {
    const instants = [...will.armed].filter((at) => at > now);
    now = Math.ceil(Math.min(...instants, ...will.later.map(({ at }) => at)));
    await clock.set(now);
    if (instants.some((at) => at <= now)) await will.engine.tick({ readyUntil: now });
    will.turns.push(...will.later.flatMap(({ turn, at }) => (at <= now ? [turn] : [])));
    will.later = will.later.filter(({ at }) => at > now);
    await settle(will);
  }
  expect(lateMs).toHaveLength(count);
  expect(Math.max(...lateMs)).toBeLessThanOrEqual(2 * minute);
  expect(will.errors).toEqual([]);
});
