/** Orders that are restarted and forked: a contract for any handler, and a shop whose last step fails at first. */
import { workflow } from "layover";
import { expect } from "vitest";
import * as z from "zod";
import type { TestDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";

export const order = workflow({
  name: "order",
  version: 1,
  timeout: "30 days",
  input: z.object({ amount: z.number() }),
  signals: { go: z.string() },
  callbacks: { approval: z.string() },
});
type Handle = Parameters<typeof order.handler>[0];

/** Reserves, charges and ships, each with a key, and fails in `ship` as long as `isBroken`. */
function shop() {
  const state = { isBroken: true, calls: [] as string[], keys: [] as string[], ids: [] as string[] };
  const handle: Handle = async ({ input, step }) => {
    const act = (name: string) =>
      step.run(
        name,
        ({ idempotencyKey }) => {
          state.calls.push(name);
          state.keys.push(`${name} ${idempotencyKey}`);
          if (name === "ship" && state.isBroken) throw new Error("no van");
          return `${name} ${input.amount}`;
        },
        { retry: { maxAttempts: 1 } },
      );
    const reserved = await act("reserve");
    const id = step.uuid();
    state.ids.push(id);
    const charged = await act("charge");
    const shipped = await act("ship");
    return [reserved, charged, shipped];
  };
  return { state, handle };
}

export function ordersOn(database: TestDatabase) {
  async function worldOf(handle: Handle) {
    return await World.begin(database, { workflows: [order.handler(handle)] });
  }

  async function aFailedOrder() {
    const { state, handle } = shop();
    const world = await worldOf(handle);
    const run = await world.start(order, { amount: 5 }, { id: "o1", tags: { customer: "c1" } });
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    return { state, world, run };
  }

  return { worldOf, aFailedOrder };
}
