/** Another function of the stack, which `grantStart` lets start runs: its client, by its own role. */
import { fileURLToPath } from "node:url";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { workflow } from "layover";
import { neon } from "layover/neon";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { awsServices } from "../../src/platform/lambda/aws/services.ts";
import { clientWithin } from "../../src/platform/lambda/client-of.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { testDatabase } from "../postgres/database.ts";
import { type Deployment, deploy } from "./a-deployment.ts";
import { synthesize } from "./synth.ts";

/** The contract of the deployment's workflow, which is all that the function has of it. */
const chain = workflow({ name: "chain", version: 1, input: z.object({ world: z.string() }) });
const database = testDatabase();
const patiently = { interval: 50 };
const timeout = 90_000;
/** As a function has it that was given no timeout. */
const context = { awsRequestId: "request", getRemainingTimeInMillis: () => 3_000 };

const synthesized = synthesize("test/aws/functions.ts", {}, (stack, layover) => {
  const other = new LambdaFunction(stack, "Webhook", {
    runtime: Runtime.NODEJS_24_X,
    handler: "webhook.handler",
    code: Code.fromAsset(fileURLToPath(new URL("runtime-client", import.meta.url))),
  });
  layover.grantStart(other);
});

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

/** What `withLayover` is in that function: with its variables, and in the name of its role. */
function inWebhook({ cloud, fetchEndpoint }: Deployment) {
  const functions = [...cloud.template.all("AWS::Lambda::Function").values()];
  const webhook = functions.find(({ Handler }) => Handler === "webhook.handler");
  if (webhook === undefined) throw new Error("the template has no webhook");
  const { Variables } = webhook["Environment"] as { Variables: Record<string, string> };
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: cloud.wire.endpoint,
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: String(webhook["Role"]).split("/").at(-1),
    AWS_SECRET_ACCESS_KEY: "of no account",
  });
  const read: string[] = [];
  const withLayover = clientWithin(
    {
      database: (parameter) => {
        read.push(parameter("database-url"));
        return neon(parameter("database-url"), { fetchEndpoint });
      },
    },
    { host: hostClock, services: awsServices(hostClock), env: Variables, engine: {} },
  );
  return { withLayover, read };
}

test("starts a run, which the deployment carries to its end, and needs each right that it has, and no secret", {
  timeout,
}, async () => {
  const deployment = await deploy(database, { ...synthesized, delays: (ms) => Math.min(ms, 2_000) });
  const { cloud, world, get } = deployment;
  const { withLayover, read } = inWebhook(deployment);
  const run = await withLayover(context, (client) => client.start(chain, { world: world.url }));
  await expect.poll(() => get(run.runId), patiently).toMatchObject({ status: "completed" });

  const later = await withLayover(context, (client) =>
    client.start(chain, { world: world.url }, { delay: "2 seconds" }),
  );
  await expect.poll(() => get(later.runId), patiently).toMatchObject({ status: "completed" });

  await withLayover(context, (client) => client.wake());
  await expect.poll(() => cloud.invoked.map(({ name }) => name), patiently).toContain("tick");
  expect(read).toHaveLength(1);

  const role = process.env["AWS_ACCESS_KEY_ID"] ?? "";
  const asked = cloud.wire.received.flatMap((received) =>
    received.role === role && received.call.service === "ssm" ? received.call.names : [],
  );
  expect(asked).toEqual(["/orders/database-url"]);
  expect(cloud.policies.unused().filter((line) => line.includes("Webhook") && !line.includes(" logs:"))).toEqual([]);
});

test("is told which variable is missing, where it was granted nothing", async () => {
  const withLayover = clientWithin(
    { database: () => database.query },
    { host: hostClock, services: awsServices(hostClock), env: {}, engine: {} },
  );
  await expect(withLayover(context, (client) => client.list())).rejects.toThrow("LAYOVER_PARAMETERS is missing");
});
