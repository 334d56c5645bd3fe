/** Runs that go on at another deployment: it has the code that fits or the new version, or the first host is gone. */
import { expect, test } from "vitest";
import * as z from "zod";
import { upgradeRun } from "../../src/client/over-postgres/upgrades.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { begin, nothing, settle, shared, TwoClouds } from "./two-clouds.ts";

const database = testDatabase();
const minute = 60_000;

test("a run that this deployment has refused goes on where the code fits", async () => {
  const clock = await database.turnClock();
  const clouds = new TwoClouds(database, clock);
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

test.each([
  ["input", "update layover.run set input = '?' where id = $1"],
  ["mail", "update layover.signal set payload = '2stored.?' where run_id = $1"],
])(
  "a run whose %s cannot be read here is handed at once to another deployment, which may have the key",
  async (_, damage) => {
    const { clock, here, there } = await begin(database);
    const { runId } = await here.client.start(shared, undefined, { delay: "1 hour" });
    const contract = workflow({ name: "shared", version: 1, signals: { go: z.null() } });
    await here.client.signal(runId, "go", null, { contract });
    await database.query(damage, [runId]);
    await clock.advance(61 * minute);
    await here.engine.tick();
    await settle(here);
    expect(there.turns).toMatchObject([{ runId }]);
  },
);

test("a run that is moved to a version which only another deployment carries is due there at once", async () => {
  const clock = await database.turnClock();
  const clouds = new TwoClouds(database, clock);
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

test("a thousand runs in flight go on at another host, once theirs is gone and that one was woken", async () => {
  const clock = await database.turnClock();
  const clouds = new TwoClouds(database, clock);
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
