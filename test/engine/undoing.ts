/** Steps that can be undone, and runs that are looked at once all undos have had the time to be done. */
import type { TestDatabase } from "../postgres/database.ts";
import { type TestedHandler, type TestedStep, tested, worldOf } from "./playing.ts";

/** A step that can be undone, and what was done and undone. */
export function ledger() {
  const done: string[] = [];
  const act = (step: TestedStep, name: string, body: () => unknown = () => name) =>
    step.run(
      name,
      async () => {
        done.push(name);
        return await body();
      },
      {
        retry: { maxAttempts: 1 },
        compensate: (result, { outcome }) => void done.push(`undo ${name}: ${outcome} ${String(result)}`),
      },
    );
  return { done, act };
}

export async function ended(database: TestDatabase, handle: TestedHandler) {
  const world = await worldOf(database, handle);
  const run = await world.start(tested);
  await world.pass("10 minutes");
  return { world, run, view: await world.get(run.runId) };
}
