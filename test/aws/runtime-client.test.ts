/** The bundle of a deployment in the client by which Lambda's own Node.js speaks the Runtime API: aws-lambda-ric. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type Deployment, deploy } from "./a-deployment.ts";
import { push } from "./push.ts";

const database = testDatabase();
const patiently = { interval: 50 };
const timeout = 90_000;

const folder = fileURLToPath(new URL("runtime-client/", import.meta.url));
const client = `${folder}node_modules/aws-lambda-ric/index.mjs`;
const runtime = [`--require=${folder}transport.cjs`, client];

beforeAll(async () => {
  if (!existsSync(client)) await promisify(execFile)("npm", ["ci", "--ignore-scripts"], { cwd: folder });
});

async function ended({ get }: Deployment, runId: string): Promise<void> {
  await expect.poll(() => get(runId), patiently).toMatchObject({ status: "completed" });
}

test("requests, ticks, turns and messages are carried out in it", { timeout }, async () => {
  const deployment = await deploy(database, { runtime });
  const { cloud, start, world } = deployment;
  await cloud.invoke("tick", {});
  await ended(deployment, await start("chain", { world: world.url }, { delay: "2 seconds" }));
  expect(new Set(cloud.invoked.map(({ name }) => name))).toEqual(new Set(["http", "tick", "turns", "forward"]));
  expect(cloud.invoked.filter(({ error }) => error !== undefined)).toEqual([]);
});

test("a delivery that was answered before is carried out in it", { timeout }, async () => {
  const deployment = await deploy(database, { runtime });
  expect(await push(deployment, "g1")).toEqual([202, "accepted"]);
  const status =
    "select t.status from layover.run_state t join layover.run r on r.id = t.run_id where r.user_id = 'g1'";
  await expect.poll(async () => (await database.pool.query(status)).rows, patiently).toEqual([{ status: "completed" }]);
  expect(deployment.cloud.invoked.filter(({ error }) => error !== undefined)).toEqual([]);
});

test("an environment serves one event after the other", {
  timeout,
}, async () => {
  const deployment = await deploy(database, { runtime });
  const { cloud, start, world } = deployment;
  for (let count = 0; count < 3; count += 1) await ended(deployment, await start("chain", { world: world.url }));
  const requests = cloud.invoked.filter(({ name }) => name === "http");
  expect(requests.filter(({ isCold }) => isCold).length).toBeLessThan(requests.length);
});

test("an error is a line of JSON whose level can be counted", { timeout }, async () => {
  const deployment = await deploy(database, { runtime, variables: { AWS_LAMBDA_LOG_FORMAT: "JSON" } });
  await ended(deployment, await deployment.start("careless", undefined));
  const lines = deployment.cloud.output.join("").split("\n");
  const told = lines
    .filter((line) => line.includes("nobody awaits this"))
    .map((line) => JSON.parse(line.slice(line.indexOf("{"))));
  expect(told).toMatchObject([{ level: "ERROR", message: { kind: "error" } }]);
});

test.each([
  ["of Lambda", runtime],
  ["of these tests", undefined],
])(
  "in the client %s a rejection that nobody handles ends neither its process nor its run, and is reported",
  {
    timeout,
  },
  async (_, runtime) => {
    const deployment = await deploy(database, runtime && { runtime });
    const { cloud, start } = deployment;
    await ended(deployment, await start("careless", undefined));
    expect(cloud.invoked.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(cloud.output.join("\n")).toContain("code that did not await a promise");
    expect(cloud.output.join("\n")).toContain("nobody awaits this");
  },
);
