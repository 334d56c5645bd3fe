/** A parent that any handler can be tried with, and the runs that it starts: its children. */
import { type Contract, workflow } from "layover";
import * as z from "zod";
import type { Workflow } from "../../src/core/contract/contract.ts";
import type { TestDatabase } from "../postgres/database.ts";
import { type PlayOptions, type TestedHandler, tested } from "./playing.ts";
import { World } from "./world.ts";

export const child = workflow({
  name: "child",
  version: 1,
  input: z.object({ nr: z.number() }),
  output: z.string(),
  signals: { go: z.unknown() },
});
export const doubling = child.handler(async ({ input, step }) => step.run("double", () => `${input.nr * 2}`));
export const waiting = child.handler(async ({ step }) => {
  await step.waitForSignal("go");
  return "went";
});

/** Answers what begins a world with a parent and the workflow of its children. */
export function familiesOn(database: TestDatabase) {
  return function family(handle: TestedHandler, of: Workflow = doubling, options: PlayOptions = {}): Promise<World> {
    return World.begin(database, { ...options, workflows: [tested.handler(handle), of] });
  };
}

export async function childrenOf(world: World, contract: Contract = child) {
  const { runs } = await world.ask((client) => client.list({ workflow: contract.name }));
  return runs;
}
