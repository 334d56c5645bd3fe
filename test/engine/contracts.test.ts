/** A contract whose schemas were changed, and whose version was not: the first turn of a run that was started before tells of it. */
import { workflow } from "layover";
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";

const database = testDatabase();

const before = workflow({
  name: "order",
  version: 1,
  input: z.object({ amount: z.number() }),
  signals: { go: z.string() },
});
const deployed = workflow({
  name: "order",
  version: 1,
  input: z.object({ amount: z.number(), currency: z.string().optional() }),
  signals: { go: z.string() },
});
const parent = workflow({ name: "parent", version: 1 });

async function theWorld() {
  return await World.begin(database, {
    workflows: [
      deployed.handler(async ({ step }) => {
        await step.sleep("nap", "1 minute");
        return await step.run("charge", () => "charged");
      }),
      parent.handler(async ({ step }) => await step.invoke("order", before, { amount: 1 })),
    ],
  });
}

function told({ events }: World) {
  return events.filter(({ kind }) => kind === "contract_differs");
}

test("the first turn tells of it once, and the run goes on", async () => {
  const world = await theWorld();
  const { runId } = await world.start(before, { amount: 1 });
  await world.pass("10 seconds");
  world.crash(); // the next turn is carried out by a process that has not seen the run
  expect(await world.run({ runId })).toMatchObject({ status: "completed", result: "charged" });
  const about = { runId, workflow: "order", version: 1, at: expect.any(Date) };
  expect(told(world)).toEqual([{ kind: "contract_differs", ...about }]);
});

test("nobody tells of a run that was started with the contract that is deployed, or by code that kept no signature", async () => {
  const world = await theWorld();
  await world.run(await world.start(deployed, { amount: 1 }));
  const { rows } = await database.pool.query("select layover.start_run($1) as answer", [
    JSON.stringify({ namespace: world.namespace, workflow: "order", version: 1, input: { amount: 1 } }),
  ]);
  expect(await world.run({ runId: rows[0]?.answer.runId })).toMatchObject({ status: "completed" });
  expect(told(world)).toEqual([]);
});

test("a run that a signal or another run has started keeps the signature of its starter's contract, and so does a fork", async () => {
  const world = await theWorld();
  const { run } = await world.ask((client) =>
    client.signalWithStart(before, "go", "now", { id: "o1", input: { amount: 1 } }),
  );
  await world.run(run);
  expect(told(world)).toMatchObject([{ runId: run.runId }]);
  const { runId: fork } = await world.ask((client) => client.fork(run.runId));
  await world.run({ runId: fork });
  expect(told(world)).toMatchObject([{ runId: run.runId }, { runId: fork }]);
  const { runId } = await world.start(parent);
  expect(await world.run({ runId })).toMatchObject({ status: "completed", result: "charged" });
  const [, , child] = told(world);
  expect(child).toMatchObject({ workflow: "order", version: 1 });
});
