/** What a step costs by each way from one turn to the next: counted exactly, and timed for whoever reads the output. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { measureHops } from "../toolchain/hop-latency.ts";
import { describeHops } from "../toolchain/hop-report.ts";
import type { Settings } from "./a-worker.ts";
import { PlayedQueue } from "./played-queue.ts";
import { aStage } from "./worker-stage.ts";

const database = testDatabase({ isOwn: true });
const stage = aStage(database);
const steps = 20;
const oneStep: Settings = { invocation: { maxSteps: 1 } };

/** The statements of a run and the messages that carry it, where a test delivers them. */
async function countsOf(settings: Settings): Promise<{ statements: number; messages: number }> {
  const queue = await PlayedQueue.open();
  const worker = await stage.begin({ self: null, env: { QUEUE_URL: queue.url }, bound: { alarm: {} } }, settings);
  await worker.start("chain", { world: stage.world.url, steps: 1 });
  await queue.drain(worker);
  stage.statements();
  const { sent } = queue;
  await worker.start("chain", { world: stage.world.url, steps });
  await queue.drain(worker);
  const statements = stage.statements().filter((name) => /^(claim|finish)_turns$/.test(name)).length;
  return { statements, messages: queue.sent - sent };
}

test("a step is two statements and a message, or one statement where a delivery carries out several", async () => {
  expect(await countsOf(oneStep)).toEqual({ statements: 2 * steps, messages: steps });
  expect(await countsOf({})).toEqual({ statements: steps + 2, messages: 1 });
});

test("how long a step takes by each way is printed", async () => {
  const latencies = await measureHops(database.url, ["layover-source"]);
  console.log(describeHops(latencies));
  expect(latencies).toHaveLength(3);
  for (const { ms } of latencies) expect(ms).toBeGreaterThan(0);
});
