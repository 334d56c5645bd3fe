/**
 * Somebody else's open transaction has locked the row of a run at work, and does not end: it has signalled the run, say, and
 * idles. That run waits. Its process goes on with all others.
 */
import type { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const minute = 60_000;

/** How long calls wait for a lock is real time. The limits themselves are tested in races/locked-turns. */
const limits = { finish_turns: ["20ms", "5s"], move_due: ["20ms", "5s"], renew_leases: ["20ms", "10s"] };
const limit = async (which: 0 | 1) => {
  for (const [name, all] of Object.entries(limits))
    await database.pool.query(`alter function layover.${name}(jsonb) set lock_timeout = '${all[which]}'`);
};
beforeAll(() => limit(0));
afterAll(() => limit(1));

async function lock(world: World, { runId }: { readonly runId: string }): Promise<Client> {
  world.locked.add(runId);
  const holder = await database.session();
  await holder.query("begin");
  await holder.query("select from layover.run_state where run_id = $1 for update", [runId]);
  return holder;
}

/** A world whose runs have one step that takes this long. `bodies`: who has begun it. */
async function aWorld(duration: "1s" | "10 minutes", processes = 1) {
  const bodies: string[] = [];
  const world: World = await worldOf(
    database,
    async ({ step, run }) => {
      await step.run(
        "charge",
        async () => {
          bodies.push(run.runId);
          await world.foreign(duration);
        },
        { timeout: "1 hour" },
      );
    },
    { batch: 100, processes },
  );
  return { world, bodies };
}

test("for 20 minutes, its result is kept, and other runs are started, carried out and looked at meanwhile", async () => {
  const { world, bodies } = await aWorld("1s");
  const locked = await world.start(tested);
  await world.pass("500ms");
  const holder = await lock(world, locked);
  const others = [];
  for (let minutes = 0; minutes < 20; minutes += 5) {
    await world.pass("5 minutes");
    const other = await world.start(tested);
    others.push(other);
    const begunAt = world.time;
    expect(await world.run(other)).toMatchObject({ status: "completed" });
    expect(world.time).toBeLessThanOrEqual(begunAt + minute);
    await world.tick();
  }
  expect(await world.get(locked.runId)).toMatchObject({ status: "running" });
  const releasedAt = world.time;
  await holder.query("rollback");
  expect(await world.run(locked)).toMatchObject({ status: "completed" });
  expect(world.time).toBeLessThanOrEqual(releasedAt + 10_000);
  await world.pass("10 minutes");
  expect(bodies).toEqual([locked, ...others].map(({ runId }) => runId));
});

test("while a new deployment looks at all blocked runs: it is tried again once the lock is gone", async () => {
  const build = (id: string, step: string) => ({
    deployment: { name: "server", id },
    workflows: [
      tested.handler(async (context) => {
        await context.step.run(step, () => {});
        await context.step.waitForSignal("go");
      }),
    ],
  });
  const world = await World.begin(database, build("old", "charge"));
  const run = await world.start(tested);
  await world.pass("3 hours");
  await world.deploy(build("new", "pay"));
  await world.signal(run, tested, "go", 1);
  expect(await world.run(run)).toMatchObject({ status: "blocked", dueAt: undefined });
  const holder = await lock(world, run);
  await world.deploy(build("fix", "charge"));
  await world.pass("5 minutes");
  await holder.query("rollback");
  await world.pass("2 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "completed" });
});

describe("while its step is under way,", () => {
  test("the leases of all others of its invocation are renewed: no other process carries them out again", async () => {
    const { world, bodies } = await aWorld("10 minutes", 2);
    const runs = [await world.start(tested), await world.start(tested), await world.start(tested)];
    const [, locked] = runs as [(typeof runs)[0], (typeof runs)[0], (typeof runs)[0]];
    await world.pass("10s");
    expect(bodies).toHaveLength(3);
    const holder = await lock(world, locked);
    await world.pass("5 minutes");
    await holder.query("rollback");
    await world.pass("2s");
    const { rows } = await database.pool.query(
      "select run_id from layover.run_state where run_id = any($1) and leased_until > layover.now() + interval '20s'",
      [runs.map(({ runId }) => runId)],
    );
    expect(rows).toHaveLength(3);
    expect(await world.run(...runs)).toMatchObject({ status: "completed" });
    expect(bodies).toHaveLength(3);
  });

  test("its process does not begin it once more when the lock is gone, though the lease is over", async () => {
    const { world, bodies } = await aWorld("10 minutes");
    const locked = await world.start(tested);
    await world.pass("10s");
    const holder = await lock(world, locked);
    await world.pass("3 minutes");
    await holder.query("rollback");
    await world.tick();
    expect(await world.run(locked)).toMatchObject({ status: "completed" });
    expect(bodies).toHaveLength(1);
    expect(world.time).toBe(10 * minute);
  });
});
