import { afterEach, expect, test } from "vitest";
import { workflow } from "../../src/core/contract/contract.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { layover, type Said, secret, secrets } from "./layover.ts";

const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });
const database = testDatabase({ isOwn: true });
const leaf = workflow({ name: "leaf", version: 1 });
const tree = workflow({ name: "tree", version: 1 });
const workflows = [
  leaf.handler(async () => "green"),
  tree.handler(async ({ step }) => [await step.invoke("leaf", leaf), await step.sleep("autumn", "90 days")]),
];

let server: NodeServer | undefined;
afterEach(async () => await server?.close());

const ask = (...args: readonly string[]): Promise<Said> =>
  layover(args, { env: { LAYOVER_URL: server?.url ?? "", LAYOVER_KEY: key } });

test("a run that another one started is shown there, and found by the other's own id", async () => {
  server = await serve({ workflows, database: database.query, secrets: [secret], port: 0, onEvent: () => {} });
  await ask("start", "tree", "--id", "t/1");
  const parent = await server.client.runById(tree, "t/1");
  await expect.poll(async () => (await parent.get()).status).toBe("sleeping");
  const [child] = (await server.client.list({ parent: parent.runId })).runs;
  expect((await ask("show", "tree/t/1")).stdout).toContain(`✓  invoke leaf     run ${child?.runId}: "green"`);
  const found = JSON.parse((await ask("runs", "--parent", "tree/t/1", "--json")).stdout);
  expect(found).toMatchObject({ runs: [{ runId: child?.runId, workflow: "leaf" }] });
  expect(await ask("pause", "--parent", "tree/t/1", "--dry-run")).toMatchObject({
    status: 0,
    stdout: "No run fits.\n",
  });
  expect(await ask("runs", "--parent", "tree/t/2")).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('Workflow "tree" has no run with the id "t/2"'),
  });
});
