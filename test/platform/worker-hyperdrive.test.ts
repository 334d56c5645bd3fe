import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { AWorker } from "./a-worker.ts";
import { aStage, completed, linksBy } from "./worker-stage.ts";
import { workerWithNode } from "./wrangler-bundle.ts";

const database = testDatabase();
const stage = aStage(database);

test("a Worker that asks through Hyperdrive calls the database as it is told to, and carries a run to its end", async () => {
  const address = new URL(database.url);
  address.password ||= "any"; // miniflare wants one
  const worker = await AWorker.begin({
    script: workerWithNode("test/platform/workers/pg.ts"),
    usesNode: true,
    env: { ENDPOINT: "db.example.com/orders" },
    bound: { hyperdrive: address.href },
  });
  const runId = await worker.start("chain", { world: stage.world.url, steps: 3 });
  await expect.poll(() => worker.run(runId)).toEqual(completed(linksBy("layover", 3)));
  const { rows } = await database.pool.query("select endpoint from layover.environment");
  expect(rows).toEqual([{ endpoint: "db.example.com/orders" }]);
  expect(worker.logged).toEqual([]);
});
