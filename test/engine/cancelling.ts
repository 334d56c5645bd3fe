/** Begins a run and cancels it. */
import type { Duration } from "layover";
import type { OperationReceipt } from "../../src/client/operations.ts";
import type { Run } from "../../src/client/run.ts";
import type { TestDatabase } from "../postgres/database.ts";
import { type PlayOptions, type TestedContext, tested, worldOf } from "./playing.ts";
import type { World } from "./world.ts";

export const reason = "ordered twice";

export function cancel(world: World, run: { readonly runId: string }): Promise<OperationReceipt> {
  return world.ask((client) => client.cancel(run.runId, { reason }));
}

export interface Cancelled {
  readonly world: World;
  readonly run: Run<typeof tested>;
}

/** Begins a run, and cancels it after `after`. */
export async function cancelled(
  database: TestDatabase,
  handle: (context: TestedContext, world: World) => Promise<unknown>,
  { after = "1 minute", ...options }: PlayOptions & { readonly after?: Duration } = {},
): Promise<Cancelled> {
  const world: World = await worldOf(database, (context) => handle(context, world), options);
  const run = await world.start(tested);
  await world.pass(after);
  await cancel(world, run);
  return { world, run };
}

/** The records of a run, as `kind path`. */
export async function recordsOf({ world, run }: Cancelled): Promise<readonly string[]> {
  const { records } = await world.history(run);
  return records.map(({ kind, path }) => `${kind} ${path}`);
}
