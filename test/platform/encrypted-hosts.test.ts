/** Each host seals what it writes: none of the wrappers between `serve` and the database loses the encryption. */
import { workflow } from "layover";
import { encrypted } from "layover/encryption";
import { serve as serveFetch } from "layover/fetch";
import { serve as serveNode } from "layover/node";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { functionsOf, type LambdaFunctions } from "../../src/platform/lambda/serve.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { testDatabase } from "../postgres/database.ts";
import { testKeys } from "../postgres/encryption/keys.ts";
import { authorized, secret } from "./a-worker.ts";
import { aStage, completed, linksBy } from "./worker-stage.ts";

const database = testDatabase({ perTest: true });
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
  const functions = functionsOf(
    { workflows, database: sealed },
    {
      host: hostClock,
      env: {
        ...{
          LAYOVER_TURNS: "turns",
          LAYOVER_TICK: "tick",
          LAYOVER_SCHEDULE_GROUP: "orders",
          LAYOVER_SCHEDULE_ROLE: "role",
        },
        ...{ LAYOVER_QUEUE_URL: "https://queue.example", LAYOVER_QUEUE_ARN: "queue", LAYOVER_PARAMETERS: "/orders" },
      },
      engine: {},
      services: {
        invoke: async (_, event) => void invoked.push(JSON.parse(event)),
        ask: async () => {},
        schedule: async () => "created",
        send: async () => [],
        parameters: async () =>
          new Map([
            ["/orders/secret", secret],
            ["/orders/public-url", "https://a.example"],
          ]),
      },
    },
  );
  const context = { awsRequestId: "request-1", getRemainingTimeInMillis: () => 900_000 };
  const event = {
    ...{
      version: "2.0",
      routeKey: "$default",
      rawPath: path,
      rawQueryString: "",
      body: start.body,
      isBase64Encoded: false,
    },
    headers: { host: "a.example", ...authorized },
    requestContext: { domainName: "a.example", http: { method: "POST", path } },
  };
  const { statusCode } = await functions.http(event as unknown as Parameters<LambdaFunctions["http"]>[0], context);
  expect(statusCode).toBe(201);
  while (invoked.length > 0) await functions.turns(invoked.shift(), context);
  await expectSealed();
});

test("on workerd, by WebCrypto, and Node's own cipher opens what that has sealed", async () => {
  const worker = await stage.begin({}, { isEncrypted: true });
  const runId = await worker.start("chain", { world: stage.world.url, steps: 2 });
  await expect.poll(() => worker.run(runId), { timeout: 15_000 }).toEqual(completed(linksBy("layover", 2)));
  await expectSealed();
  const fetched = serveFetch({ workflows, database: sealed, secrets: () => [secret], publicUrl: () => worker.url });
  const answer = await fetched(new Request(`${worker.url}/v1/runs/${runId}`, { headers: authorized }));
  expect(await answer.json()).toMatchObject({ status: "completed", input: { world: stage.world.url } });
  expect(worker.logged).toEqual([]);
});
