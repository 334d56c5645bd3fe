/** Plays one run of a handler, from its start to its end. */

import { workflow } from "layover";
import * as z from "zod";
import type { Run } from "../../src/client/run.ts";
import type { RunView } from "../../src/client/run-view.ts";
import type { TestDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";
import type { WorldOptions } from "./world-options.ts";

/** A contract that any handler can be tried with. */
export const tested = workflow({
  name: "tested",
  version: 1,
  signals: { go: z.unknown(), other: z.unknown() },
  callbacks: { approval: z.unknown(), review: z.unknown() },
});

export type TestedHandler = Parameters<typeof tested.handler>[0];
export type TestedContext = Parameters<TestedHandler>[0];
export type TestedStep = TestedContext["step"];

export type PlayOptions = Omit<WorldOptions, "workflows">;

export async function worldOf(
  database: TestDatabase,
  handle: TestedHandler,
  options: PlayOptions = {},
): Promise<World> {
  return await World.begin(database, { ...options, workflows: [tested.handler(handle)] });
}

export interface Played {
  readonly world: World;
  readonly run: Run<typeof tested>;
  readonly view: RunView;
}

/** Starts a run of `handle` and lets time pass until it is over, blocked, or waits for nothing but signals. */
export async function play(
  database: TestDatabase,
  handle: (context: TestedContext, world: World) => Promise<unknown>,
  options: PlayOptions = {},
): Promise<Played> {
  const world: World = await worldOf(database, (context) => handle(context, world), options);
  const run = await world.start(tested);
  return { world, run, view: await world.run(run) };
}
