/** A workflow whose values are beyond the limit, and a world with a store that keeps them. */
import { workflow } from "layover";
import * as z from "zod";
import type { TestDatabase } from "../postgres/database.ts";
import { MemoryStore } from "../postgres/store/memory-store.ts";
import { World } from "./world.ts";
import type { WorldOptions } from "./world-options.ts";

export const mebibyte = 1024 * 1024;
export const text = (letter: string, bytes = 2 * mebibyte) => letter.repeat(bytes);

export const report = workflow({
  name: "report",
  version: 1,
  input: z.string(),
  output: z.string(),
  signals: { go: z.null() },
});
export const both = report.handler(async ({ input, step }) => {
  const read = await step.run("read", () => text("r"));
  await step.waitForSignal("go");
  return await step.run("join", () => input.slice(0, 10) + read);
});

export const build = (id: string) => ({ deployment: { name: "server", id } });

export async function aWorld(database: TestDatabase, more: Partial<WorldOptions> = {}) {
  const store = new MemoryStore();
  const world = await World.begin(database, {
    ...build("a"),
    workflows: [both],
    values: { store, timeoutMs: 50 },
    ...more,
  });
  const held = async () => {
    const { rows } = await database.pool.query<{ run_id: string; key: string }>(
      "select run_id, key from layover.stored_value where namespace = $1 order by key, run_id",
      [world.namespace],
    );
    return rows;
  };
  const keys = () => [...store.values.keys()].sort();
  return { world, store, held, keys };
}

export async function sentOn(world: World, run: { readonly runId: string }) {
  await world.ask((client) => client.signal(run.runId, "go", null, { contract: report }));
  return await world.run(run);
}

/** Two builds refuse the run, so that it is blocked. */
export async function refusedByTwo(world: World, run: { readonly runId: string }, values: WorldOptions["values"]) {
  await world.pass("1 minute"); // so that the build before is older
  await world.deploy({ ...build("b"), values });
  await world.ask((client) => client.signal(run.runId, "go", null, { contract: report }));
  await world.pass("2 minutes");
  await world.deploy({ ...build("c"), values });
  await world.pass("2 minutes");
}
