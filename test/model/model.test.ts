/**
 * Random commands against the reference model, on real Postgres, the clock turned by hand.
 *
 * `MODEL_SEQUENCES=50000 npm test -- model` plays more, `MODEL_SEED=…` plays a failure again.
 */
import fc from "fast-check";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { sequences, type Wish } from "./commands.ts";
import { type Played, Player, playSql } from "./player.ts";

const count = Number(process.env["MODEL_SEQUENCES"] ?? 3_000);
const seed = Number(process.env["MODEL_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
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
      clients.push(client);
    }
  });
  afterAll(async () => {
    for (const client of clients) await client.end();
  });

  test(`does what the reference model does, over ${count} sequences of random commands`, {
    timeout: 60_000 + 30 * count,
  }, async () => {
    const outcomes = new Map<string, number>();
    const failures = await Promise.all(
      sides.map(async (side, index) => {
        const client = clients[index];
        if (client === undefined) throw new Error("a side has no connection");
        const player = new Player(client, side);
        const property = fc.asyncProperty(sequences, async (wishes) => {
          const played = await player.play(wishes);
          for (const outcome of played.outcomes) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
          return played.surprises.length === 0;
        });
        const { counterexample } = await fc.check(property, {
          seed: seed + index,
          numRuns: Math.ceil(count / sides.length),
        });
        return counterexample === null
          ? []
          : [
              describeFailure(
                seed + index,
                counterexample[0],
                await player.play(counterexample[0], { looksAlways: true }),
              ),
            ];
      }),
    );
    if (process.env["MODEL_OUTCOMES"]) console.log([...outcomes].sort(([one], [other]) => (one < other ? -1 : 1)));
    expect(failures.flat().join("\n\n")).toBe("");
  });
});

function describeFailure(seed: number, wishes: readonly Wish[], { steps, surprises }: Played): string {
  const start = steps[0]?.now ?? 0;
  const lines = steps.map(({ now, words }) => `  +${(now - start) / 1_000} s  ${words}`);
  return [
    `MODEL_SEED=${seed}, shrunk to ${wishes.length} wishes:`,
    ...lines,
    "went otherwise than expected:",
    ...surprises.map((surprise) => `  ${surprise}`),
  ].join("\n");
}
