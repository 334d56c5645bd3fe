import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { layover, secret, secrets } from "./layover.ts";
import { orderWorkflow } from "./workflows.ts";

const database = testDatabase({ isOwn: true });
const module = fileURLToPath(new URL("order-workflow.ts", import.meta.url));
const key = createApiKey(secrets, { name: "ci", namespace: "default", scopes });
const endpoint = () => ["--endpoint", database.query.endpoint];

test("layover deployed registers a build, and has the server that runs it try again what was blocked", async () => {
  const server = await serve({
    workflows: [orderWorkflow],
    database: database.query,
    secrets: [secret],
    port: 0,
    deployment: "build 1",
  });
  onTestFinished(async () => await server.close());
  const run = await server.client.start(orderWorkflow.contract, { amount: 1 });
  const statusOf = async () => (await server.client.get(run.runId)).status;
  await expect.poll(statusOf).toBe("waiting");
  await database.query("update layover.run_state set blocked = 'by other code', due_at = null");

  const env = { DATABASE_URL: database.url, LAYOVER_URL: server.url, LAYOVER_KEY: key };
  const said = await layover(["deployed", module, "--id", "build 1", ...endpoint()], { env });
  expect(said).toMatchObject({ status: 0, stderr: "" });
  expect(said.stdout).toContain("The build build 1 of node is deployed.");
  await expect.poll(statusOf).toBe("waiting");
  const rows = await database.query("select name, id, versions->'order' as orders from layover.deployment");
  expect(rows).toEqual([{ name: "node", id: "build 1", orders: [1] }]);
});

test("layover deployed notes nothing in a database of another environment", async () => {
  await database.query(
    "insert into layover.environment (namespace, name, endpoint, adopted_at) values ('default', $1, $2, now())",
    ["production", database.query.endpoint],
  );
  const env = { DATABASE_URL: database.url, LAYOVER_ENVIRONMENT: "staging" };
  const said = await layover(["deployed", module, "--id", "build 1", ...endpoint()], { env });
  expect(said.status).toBe(1);
  expect(said.stderr).toContain('this database does not belong to "staging"');
  expect(await database.query("select id from layover.deployment")).toEqual([]);
});
