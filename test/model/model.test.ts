/**
 * Random commands against the reference model, on real Postgres, the clock turned by hand.
 *
 * `MODEL_SEQUENCES=50000 npm test -- test/model` plays more, with `MODEL_OUTCOMES=1` it tells what came up how often;
 * `MODEL_SEED=…` plays a failure again. Sequences are played side by side on two connections.
 */
import fc from "fast-check";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { isWhole, testSeed } from "../size.ts";
import { sequences } from "./commands.ts";
import { type Played, Player, playSql } from "./player.ts";
import type { Wish } from "./wishes.ts";

const count = Number(process.env["MODEL_SEQUENCES"] ?? (isWhole ? 1_500 : 250));
const seed = Number(process.env["MODEL_SEED"] ?? testSeed ?? Math.floor(Math.random() * 2 ** 31));
const sides = ["a", "b"];

describe("the state machine in Postgres", () => {
  const database = testDatabase();
  const clients: Client[] = [];

  beforeAll(async () => {
    await database.pool.query(playSql);
    for (const _ of sides) {
      const client = new Client({ connectionString: database.url });
      client.on("error", () => {}); // the database is dropped under it in the end
      await client.connect();
      await client.query("set plan_cache_mode = force_generic_plan"); // a third faster
      clients.push(client);
    }
  });
  afterAll(async () => {
    for (const client of clients) await client.end();
  });

  const timeout = 120_000 + 320 * count;
  test(`does what the reference model does, over ${count} sequences of random commands`, { timeout }, async () => {
    const outcomes = new Map<string, number>();
    const failures = await Promise.all(
      clients.map(async (client, index) => {
        const player = new Player(client, sides[index] ?? "");
        const property = fc.asyncProperty(sequences, async (wishes) => {
          const played = await player.play(wishes);
          for (const outcome of played.outcomes) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
          return played.surprises.length === 0;
        });
        const numRuns = Math.ceil(count / sides.length);
        const { counterexample } = await fc.check(property, { seed: seed + index, numRuns, unbiased: true });
        if (counterexample === null) return [];
        const [wishes] = counterexample;
        return [describeFailure(seed + index, wishes, await player.play(wishes, { looksAlways: true }))];
      }),
    );
    if (process.env["MODEL_OUTCOMES"]) console.table(Object.fromEntries([...outcomes].sort()));
    expect(failures.flat().join("\n\n")).toBe("");
  });
});

function describeFailure(seed: number, wishes: readonly Wish[], { steps, surprises }: Played): string {
  const start = steps[0]?.now ?? 0;
  return [
    `MODEL_SEED=${seed}, shrunk to ${wishes.length} wishes:`,
    ...steps.map(({ now, words }) => `  +${(now - start) / 1_000} s  ${words}`),
    "went otherwise than expected:",
    ...surprises.map((surprise) => `  ${surprise}`),
  ].join("\n");
}
