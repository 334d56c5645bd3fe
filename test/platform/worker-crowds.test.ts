/** A Worker with many turns at once: how many requests carry them, and what is left to the next cron trigger. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { aStage, lastDeployment } from "./worker-stage.ts";

const database = testDatabase({ isOwn: true });
const stage = aStage(database);

test("steps that are ready together share a request", async () => {
  const worker = await stage.begin();
  const runId = await worker.start("fan", { world: stage.world.url, steps: 10 });
  await expect.poll(() => worker.run(runId)).toMatchObject({ status: "completed" });
  expect(stage.statements().filter((name) => name === "claim_turns")).toHaveLength(3); // it asks, they run, it ends
});

test("a cron trigger that finds hundreds of runs has them all carried out by thirty requests", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin();
  await database.pool.query(`select layover.start_run(json_build_object('namespace', 'default', 'workflow', 'still',
    'version', 1)::jsonb) from generate_series(1, 700)`);
  await clock.advance(120_000);
  stage.statements();
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements().filter((name) => name === "claim_turns")).toHaveLength(30);
  const { rowCount } = await database.pool.query("select from layover.run_state where status = 'completed'");
  expect(rowCount).toBe(700);
});

test("where runs are more than may be carried at a time, each goes one request far, and the next cron trigger goes on", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin({}, { invocation: { maxSteps: 1 } });
  const runIds = await Promise.all(Array.from({ length: 41 }, () => stage.readyRun(worker, 2)));
  expect(await worker.ring()).toBe("ok");
  const records = async () => {
    const { rows } = await database.pool.query("select run_id, last_position from layover.run_state");
    return rows.map(({ last_position }) => last_position);
  };
  expect(await records()).toEqual(runIds.map(() => 1));
  await clock.advance(120_000);
  expect(await worker.ring()).toBe("ok");
  expect(await records()).toEqual(runIds.map(() => 2));
});

test("of hundreds of runs that lost lease after lease each cron trigger has ten tried, each alone, and counts no other", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin();
  await database.pool.query(`select layover.start_run(json_build_object('namespace', 'default', 'workflow', 'still',
    'version', 1)::jsonb) from generate_series(1, 200)`);
  await database.pool.query(`update layover.run_state set status = 'running', token = gen_random_uuid(),
    leased_until = layover.now(), lost = 4`);
  await clock.advance(120_000);
  stage.statements();
  expect(await worker.ring()).toBe("ok");
  expect(stage.statements().filter((name) => name === "claim_turns")).toHaveLength(10);
  const left = async () => {
    const query = "select from layover.run_state where status = 'running' and dispatches = 0";
    return (await database.pool.query(query)).rowCount;
  };
  expect(await left()).toBe(190);
  expect(await lastDeployment(database)).toBeNull(); // it has not looked at all of them
  expect(await worker.ring()).toBe("ok");
  expect(await left()).toBe(180);
});
