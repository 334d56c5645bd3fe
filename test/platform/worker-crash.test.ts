import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { aStage, completed, linksBy } from "./worker-stage.ts";

const database = testDatabase();
const stage = aStage(database);

test("a run whose machine is lost amid a step goes on when the lease is over, each result recorded once", async () => {
  const clock = await database.turnClock();
  const worker = await stage.begin();
  const held = stage.world.hold("link-2");
  const runId = await worker.start("chain", { world: stage.world.url, steps: 3 });
  await held.arrived;
  worker.kill();
  await worker.restart();
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toMatchObject({ status: "running", records: 1 });
  await clock.advance(120_000);
  expect(await worker.ring()).toBe("ok");
  expect(await worker.run(runId)).toEqual(completed(linksBy("layover", 3)));
  expect(stage.world.asked).toEqual(["link-1", "link-2", "link-2", "link-3"]);
});
