/** Each host seals what it writes: none of the wrappers between `serve` and the database loses the encryption. */
import { workflow } from "layover";
import { encrypted } from "layover/encryption";
import { serve as serveFetch } from "layover/fetch";
import { serve as serveNode } from "layover/node";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { functionsOf } from "../../src/platform/lambda/serve.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { testDatabase } from "../postgres/database.ts";
import { testKeys } from "../postgres/encryption/keys.ts";
import { authorized, secret } from "./a-worker.ts";
import { lambdaContext, lambdaEnv, postTo, quietServices } from "./lambda-ground.ts";
import { aStage, completed, linksBy } from "./worker-stage.ts";

const database = testDatabase({ isOwn: true });
const stage = aStage(database);

const order = workflow({ name: "order", version: 1, input: z.string(), output: z.string() });
const workflows = [order.handler(async ({ input, step }) => await step.run("charge", () => `${input}, charged`))];
const sealed = () => encrypted(database.query, testKeys);
const start = { method: "POST", headers: authorized, body: JSON.stringify({ input: "a plum" }) };
const path = "/v1/workflows/order/runs";

/** The values of all runs, as they stand in the database. */
async function stored(): Promise<readonly unknown[]> {
  const { rows } = await database.pool.query(
    `select input as value from layover.run union all select value from layover.record
     union all select result from layover.run_state where result is not null`,
  );
  return rows.map(({ value }) => value);
}

async function expectSealed(): Promise<void> {
  const values = await stored();
  expect(values.length).toBeGreaterThanOrEqual(3);
  expect(values.filter((value) => !String(value).startsWith("2sealed.k1."))).toEqual([]);
}

test("on a host with fetch", async () => {
  const fetched = serveFetch({
    workflows,
    database: sealed,
    secrets: () => [secret],
    publicUrl: () => "https://a.example",
  });
  const { runId } = Object(await (await fetched(new Request(`https://a.example${path}`, start))).json());
  const answer = await fetched(
    new Request(`https://a.example/v1/runs/${runId}/result?wait=10s`, { headers: authorized }),
  );
  expect(await answer.json()).toMatchObject({ status: "completed", result: "a plum, charged" });
  await expectSealed();
});

test("on Node", async () => {
  const server = await serveNode({ workflows, database: sealed(), secrets: [secret], port: 0 });
  onTestFinished(async () => await server.close());
  const { runId } = Object(await (await fetch(`${server.url}${path}`, start)).json());
  const answer = await fetch(`${server.url}/v1/runs/${runId}/result?wait=10s`, { headers: authorized });
  expect(await answer.json()).toMatchObject({ status: "completed", result: "a plum, charged" });
  await expectSealed();
});

test("on Lambda", async () => {
  const invoked: unknown[] = [];
  const services = quietServices("https://orders.example", invoked);
  const functions = functionsOf(
    { workflows, database: sealed },
    { host: hostClock, env: lambdaEnv, engine: {}, services },
  );
  expect(await postTo(functions, { path, headers: authorized, body: start.body })).toBe(201);
  while (invoked.length > 0) await functions.turns(invoked.shift(), lambdaContext);
  await expectSealed();
});

test("on workerd, by WebCrypto, and Node's own cipher opens what that has sealed", async () => {
  const worker = await stage.begin({}, { isEncrypted: true });
  const runId = await worker.start("chain", { world: stage.world.url, steps: 2 });
  await expect.poll(() => worker.run(runId)).toEqual(completed(linksBy("layover", 2)));
  await expectSealed();
  const fetched = serveFetch({ workflows, database: sealed, secrets: () => [secret], publicUrl: () => worker.url });
  const answer = await fetched(new Request(`${worker.url}/v1/runs/${runId}`, { headers: authorized }));
  expect(await answer.json()).toMatchObject({ status: "completed", input: { world: stage.world.url } });
  expect(worker.logged).toEqual([]);
});
