/** A new run that begins with a copy of the history of another run, which stays as it was. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { order, ordersOn } from "./orders.ts";

const database = testDatabase();
const { worldOf, aFailedOrder } = ordersOn(database);

test("a fork goes on from a copy, and the old run stays as it was", async () => {
  const { state, world, run } = await aFailedOrder();
  state.isBroken = false;
  state.calls = [];
  const newRunId = "019b76da-0000-7000-8000-000000000001";
  const ask = () => world.ask((client) => client.fork(run.runId, { from: "charge", id: "o2", newRunId }));
  expect(await ask()).toEqual({ runId: newRunId, outcome: "forked" });
  expect(await world.run({ runId: newRunId })).toMatchObject({
    id: "o2",
    status: "completed",
    tags: { customer: "c1" },
    result: ["reserve 5", "charge 5", "ship 5"],
    epoch: 1,
  });
  expect(state.calls).toEqual(["charge", "ship"]);
  expect(await ask()).toEqual({ runId: newRunId, outcome: "forked" });
  expect(await world.get(run.runId)).toMatchObject({ id: "o1", status: "failed", epoch: 0 });
  expect((await world.history({ runId: newRunId })).epochs).toMatchObject([{ why: "forked", kept: 1 }]);
});

test("a fork undoes nothing that it has copied", async () => {
  const undone: string[] = [];
  const state = { isBroken: false };
  const world = await worldOf(async ({ step, run }) => {
    const act = (name: string) =>
      step.run(name, () => name, { compensate: () => void undone.push(`${name} of ${run.id ?? "the fork"}`) });
    await act("a");
    await act("b");
    if (state.isBroken) await step.run("c", () => Promise.reject(new Error("no")), { retry: { maxAttempts: 1 } });
  });
  const run = await world.start(order, { amount: 1 }, { id: "first" });
  await world.run(run);
  state.isBroken = true;
  const { runId } = await world.ask((client) => client.fork(run.runId, { from: "b" }));
  expect(await world.run({ runId })).toMatchObject({ status: "failed", undos: { owed: 1, done: 1, failed: 0 } });
  expect(undone).toEqual(["b of the fork"]);
});
