import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { patience } from "./a-deployment.ts";
import { layover, type Said, secret, secrets } from "./layover.ts";

const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });
const database = testDatabase({ isOwn: true });
const leaf = workflow({ name: "leaf", version: 1 });
const tree = workflow({ name: "tree", version: 1 });
/** Takes half an hour to end when it is to end. */
const lingering = workflow({ name: "lingering", version: 1 });
const trip = workflow({ name: "trip", version: 1, input: z.object({ hasCar: z.boolean() }) });
const workflows = [
  lingering.handler(async ({ step }) => {
    try {
      await step.sleep("night", "1 day");
    } finally {
      await step.cleanup("tidy", ({ step }) => step.sleep("up", "30 minutes"));
    }
  }),
  trip.handler(async ({ step, input }) => {
    const stay = step.invoke("stay", lingering, undefined, { compensate: () => {} });
    await step.run("look for a car", () => 1);
    if (!input.hasCar) throw new Error("there is no car");
    await stay;
  }),
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

test.each([
  ["has failed", "failed", { hasCar: false }],
  ["was cancelled", "cancelled", { hasCar: true }],
])("a run that %s tells of the run at work that it waits for before its undos", async (_, id, input) => {
  server = await serve({ workflows, database: database.query, secrets: [secret], port: 0, onEvent: () => {} });
  const run = await server.client.start(trip, input, { id });
  const invoked = async () => (await server?.client.list({ parent: run.runId }))?.runs[0];
  if (input.hasCar) {
    await expect.poll(async () => (await invoked())?.status, patience).toBe("sleeping");
    await run.cancel();
  }
  await expect.poll(async () => (await invoked())?.status, patience).toBe("cancelling");
  await expect.poll(async () => (await run.get()).status, patience).toBe("compensating");
  const [listed, shown] = await Promise.all([ask("runs", "--workflow", "trip"), ask("show", run.runId)]);
  const row = listed.stdout.split("\n").find((line) => line.split(/ +/)[2] === id);
  expect(row).toMatch(/ compensating +.* waits for steps or runs at work$/);
  const screen = shown.stdout.replaceAll(/\n {20,}/g, " "); // without the breaks of long lines
  expect(screen).toContain(`for the end of run ${(await invoked())?.runId}, until `);
  expect(screen).toMatch(/\nnow +… {2}invoke stay +for the end of run .*, until .* \(in 23\s+h/);
});
