/** How long what was at work takes once its process has died: no more than it takes without that, and the lease. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { tested, worldOf } from "./playing.ts";
import type { World } from "./world.ts";

const database = testDatabase();
const bodyMs = 5_000;

/** So many runs, of which each has one body of five seconds; `startSql` starts them by one statement. */
async function atWork(count: number): Promise<{ world: World; begun: number[]; ended: number[] }> {
  const begun: number[] = [];
  const ended: number[] = [];
  const world: World = await worldOf(
    database,
    ({ step }) =>
      step.run("slow", async () => {
        begun.push(world.time);
        await world.foreign(bodyMs);
        ended.push(world.time);
      }),
    { platform: "node", batch: 100 },
  );
  await database.pool.query(
    `select layover.start_run(json_build_object('namespace', $1::text, 'runId', layover.new_id(),
       'workflow', $2::text, 'version', $3::integer, 'input', null)::jsonb) from generate_series(1, $4)`,
    [world.namespace, tested.name, tested.version, count],
  );
  await world.tick();
  await world.pass("1s");
  expect(begun).toHaveLength(count);
  return { world, begun, ended };
}

async function statusesOf(world: World): Promise<readonly unknown[]> {
  const { rows } = await database.pool.query(
    "select status, count(*)::integer as count from layover.run_state where namespace = $1 group by 1",
    [world.namespace],
  );
  return rows;
}

test("64 bodies of five seconds whose process died take five seconds again, all at once", async () => {
  const { world, begun, ended } = await atWork(64);
  world.crash();
  await world.pass("10 minutes");
  expect(await statusesOf(world)).toEqual([{ status: "completed", count: 64 }]);
  expect(begun).toHaveLength(128);
  expect(Math.max(...ended) - (begun[64] ?? 0)).toBeLessThanOrEqual(3 * bodyMs);
});

test("2,000 runs whose process died are claimed in batches again", async () => {
  const { world, begun, ended } = await atWork(2_000);
  const claims = world.statements("claim_turns");
  world.crash();
  await world.pass("10 minutes");
  expect(await statusesOf(world)).toEqual([{ status: "completed", count: 2_000 }]);
  expect(Math.max(...ended) - (begun[2_000] ?? 0)).toBeLessThanOrEqual(3 * bodyMs);
  expect(world.statements("claim_turns") - claims).toBeLessThanOrEqual(2 * claims);
});
