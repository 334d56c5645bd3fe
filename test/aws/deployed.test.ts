/** The functions as the construct deploys them: their bundle, AWS' own clients on the wire, their roles, and Postgres. */
import { describe, expect, test } from "vitest";
import { completed } from "../platform/worker-stage.ts";
import { testDatabase } from "../postgres/database.ts";
import { type Deployment, deploy, theSynthesis } from "./a-deployment.ts";
import type { Fate } from "./cloud.ts";

const database = testDatabase();
const patiently = { interval: 50 };
const timeout = 90_000;

/** Resolves when the run is over. */
async function ended({ get }: Deployment, runId: string): Promise<void> {
  await expect.poll(() => get(runId), patiently).toMatchObject({ status: "completed" });
}

/** Carries out a run of `busy`, which asks for all that AWS gives. */
async function workBusily(deployment: Deployment): Promise<void> {
  const { start, get, post } = deployment;
  const runId = await start("busy", undefined);
  await expect.poll(() => get(runId), patiently).toMatchObject({ status: "waiting" });
  await post(`/v1/runs/${runId}/signals/go`, { payload: "now" });
  await ended(deployment, runId);
}

/** Answers a callback that a handler has told. */
async function answerCallback({ cloud, post }: Deployment, value: string | object): Promise<void> {
  const told = () => /https?:[\w.:/-]+(\/callbacks\/[\w.-]+)/.exec(cloud.output.join("\n"))?.[1];
  await expect.poll(told, patiently).toBeDefined();
  expect((await post(told() ?? "", value)).status).toBe(200);
}

test("an order is started by the function URL, and carried to its end by all four functions", { timeout }, async () => {
  const deployment = await deploy(database);
  const { cloud, start, get } = deployment;
  cloud.deployed();
  const input = { customer: "Ada", amount: 42, items: ["lamp"], address: { street: "1 Rose St", city: "London" } };
  const runId = await start("order", input);
  await answerCallback(deployment, { ok: true });
  await ended(deployment, runId);
  expect(await get(runId)).toEqual(completed(expect.objectContaining({ parcels: [expect.any(String)] })));
  const failed = cloud.invoked.filter(({ error }) => error !== undefined);
  expect(failed).toEqual([]);
});

test("each permission that is granted is needed, and no other", { timeout }, async () => {
  const deployment = await deploy(database, { delays: (ms) => Math.min(ms, 3_000) });
  const { cloud, start, world } = deployment;
  cloud.deployed();
  const wait = { world: world.url };
  await ended(deployment, await start("chain", wait, { delay: "2 seconds" }));
  await workBusily(deployment);

  // One run is ready, and one will be soon: a tick finds both.
  for (const readyAt of ["layover.now()", "layover.now() + interval '3 seconds'"]) {
    const runId = await start("chain", { ...wait, steps: 1 }, { delay: "1 hour" });
    const state = `ready_at = ${readyAt}, due_at = layover.now()`;
    await database.pool.query(`update layover.run_state set ${state} where run_id = $1`, [runId]);
    await cloud.invoke("tick", {});
    await ended(deployment, runId);
  }

  const ticks = () => cloud.invoked.filter(({ name }) => name === "tick").length;
  const [fires, isGivenUp] = cloud.schedules.keys();
  const before = ticks();
  cloud.fire(fires ?? "");
  cloud.giveUpSchedule(isGivenUp ?? "");
  cloud.giveUpEvent("tick", {});
  await expect.poll(ticks, patiently).toBe(before + 3);

  // Lambda itself writes logs.
  expect(cloud.policies.unused().filter((line) => !line.includes(" logs:"))).toEqual([]);
});

test("what is not granted is refused, and told to the operator", { timeout }, async () => {
  const { template, code } = theSynthesis();
  const broken = JSON.parse(
    JSON.stringify(template).replaceAll('"scheduler:CreateSchedule"', '"scheduler:GetSchedule"'),
  );
  const { cloud, post, world } = await deploy(database, { template: broken, code });
  const response = await post("/v1/workflows/chain/runs", { input: { world: world.url } });
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain("arn:aws");
  expect(cloud.output.join("\n")).toContain("is not authorized to perform: scheduler:CreateSchedule");
  const { rows } = await database.pool.query(
    "select from layover.run where workflow = 'chain' and created_at > now() - interval '1 second'",
  );
  expect(rows).toEqual([]);
});

describe.each<[string, string, Fate]>([
  ["each invocation is refused at first", "lambda", "throttled"],
  ["each invocation fails after AWS took it", "lambda", "fails after"],
  ["each invocation comes twice", "lambda", "twice"],
  ["each schedule is refused at first", "scheduler", "throttled"],
  ["each schedule fails after AWS made it", "scheduler", "fails after"],
  ["each message is refused at first", "sqs", "throttled"],
  ["each message comes twice", "sqs", "twice"],
  ["the parameters are refused at first", "ssm", "throttled"],
])("where %s", (_, service, fate) => {
  test("a run ends, and each of its steps is carried out once", { timeout }, async () => {
    let calls = 0;
    const deployment = await deploy(database, {
      fateOf: ({ call }) => {
        if (call.service !== service) return "passes";
        calls += 1;
        return fate === "twice" || calls % 2 === 1 ? fate : "passes";
      },
    });
    const { cloud, start, world } = deployment;
    const runId = await start("patient", { world: world.url });
    await answerCallback(deployment, "yes");
    await ended(deployment, runId);
    if (service === "sqs") await workBusily(deployment);
    expect(world.asked).toEqual(["yes"]);
    expect(cloud.output.filter((line) => line.includes("ERROR") || line.includes("error"))).toEqual([]);
  });
});

test("no call to AWS goes on with the chain of the invocation that made it: Lambda stops long chains", {
  timeout,
}, async () => {
  const deployment = await deploy(database);
  const { cloud } = deployment;
  await workBusily(deployment);
  expect(new Set(cloud.wire.received.map(({ call }) => call.service))).toEqual(
    new Set(["lambda", "scheduler", "sqs", "ssm"]),
  );
  for (const { headers } of cloud.wire.received) expect(Object.keys(headers)).not.toContain("x-amzn-trace-id");
});

test("a run of ten steps in a row is two invocations, twelve statements and one schedule", { timeout }, async () => {
  const deployment = await deploy(database);
  const { cloud, start, statements, world } = deployment;
  await ended(deployment, await start("chain", { world: world.url })); // the environments are warm, and know the time
  await expect.poll(() => cloud.atWork, patiently).toBe(0);
  const [before] = [cloud.wire.received.length, statements()];
  cloud.invoked.splice(0);

  await start("chain", { world: world.url, steps: 10 });
  await expect.poll(() => cloud.invoked.map(({ name }) => name), patiently).toEqual(["http", "turns"]);
  expect(Object.groupBy(statements(), (name) => name)).toEqual({
    start_run: [expect.anything()],
    claim_turns: [expect.anything()],
    finish_turns: Array.from({ length: 10 }, () => expect.anything()),
  });
  const calls = cloud.wire.received.slice(before).map(({ call }) => call.action);
  expect(calls.filter((action) => action === "lambda:InvokeFunction")).toHaveLength(1);
  expect(calls.filter((action) => action === "scheduler:CreateSchedule").length).toBeLessThanOrEqual(1);
});

test("a process that is killed amid a step is replaced when its lease is over", { timeout }, async () => {
  const deployment = await deploy(database);
  const { cloud, start, world } = deployment;
  const clock = await database.turnClock();
  await clock.goOn();
  const held = world.hold("link-2");
  const runId = await start("chain", { world: world.url, steps: 3 });
  await held.arrived;
  expect(cloud.kill("turns", "at work")).toBe(1);
  held.release();
  await clock.advance(120_000);
  await cloud.invoke("tick", {});
  await ended(deployment, runId);
  expect(world.asked).toEqual(["link-1", "link-2", "link-2", "link-3"]);
});
