/** Rings between two deployments on one database: a deployment rings at the one that carries a run, once it is due. */
import { setImmediate as nextRound } from "node:timers/promises";
import { expect, test } from "vitest";
import { workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { begin, type Host, nothing, settle, shared, theirs } from "./two-clouds.ts";

const database = testDatabase();
const minute = 60_000;

test("a run that only another deployment carries is handed to it at once, and is due when that one has armed for it", async () => {
  const { clouds, here, there } = await begin(database);
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
  const { clouds, clock, here, there } = await begin(database, { id: "1f2e3d" });
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
  const { clouds, clock, here, there } = await begin(database);
  const { runId } = await here.client.start(theirs);
  here.turns = [];
  await clock.set((await clouds.dueAt(runId)) ?? 0);
  await here.engine.tick();
  expect(there.turns).toEqual([{ runId, turn: 1 }]);
  expect([...there.armed]).toContain(await clouds.dueAt(runId));
});

test("a deployment that does not answer is rung again, after one to ten minutes, and nothing else is asked for it", async () => {
  const { clouds, clock, here, there } = await begin(database);
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
  const { here, there } = await begin(database);
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
  const { clouds, clock, here, there } = await begin(database);
  await here.client.start(shared);
  await settle(here);
  const { runId } = await here.client.start(workflow({ name: "nobody's", version: 1 }));
  await settle(here);
  await clock.set((await clouds.dueAt(runId)) ?? 0);
  await here.engine.tick();
  expect(there.rung).toBe(0);
});

test("a build that is not live any more is not rung", async () => {
  const { clouds, clock, here } = await begin(database);
  for (const id of ["two", "three"]) {
    await clock.advance(minute);
    await clouds.host("there", [shared.handler(nothing)], { id }).engine.tick();
  }
  await here.client.start(theirs);
  await settle(here);
  expect(here.errors).toEqual([]);
});

test("two hosts whose new builds lack what their old ones had do not ring at each other without end", async () => {
  const { clouds, clock, here: was, there: other } = await begin(database);
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
  const { clouds, clock, here, there } = await begin(database);
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
