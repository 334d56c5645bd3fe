/** The functions as the construct deploys them: their bundle, AWS' own clients, roles, and Postgres. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { deploy } from "./a-deployment.ts";

const database = testDatabase();
const patiently = { timeout: 20_000, interval: 50 };

test("a run is started by the function URL, and carried to its end by the function turns", { timeout: 60_000 }, async () => {
  const { cloud, world, start, get, statements } = await deploy(database);
  const runId = await start("chain", { world: world.url, steps: 3 });
  await expect.poll(() => get(runId), patiently).toMatchObject({ status: "completed" });
  expect(world.asked).toEqual(["link-1", "link-2", "link-3"]);
  console.log(statements(), cloud.output, cloud.invoked.map(({ name, ms, isCold }) => [name, ms, isCold]));
  expect(cloud.output).toEqual([]);
});
