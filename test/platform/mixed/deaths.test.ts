/**
 * A host dies at any one call of the database of an order that goes through all three: before the call, or when Postgres has
 * carried it out and nobody has heard the answer. Nothing is lost, and the world outside sees no effect twice.
 */
import { expect, onTestFinished, test } from "vitest";
import { Chance } from "../../engine/chance.ts";
import { testDatabase } from "../../postgres/database.ts";
import { isWhole, testSeed } from "../../size.ts";
import type { CallFate } from "./one-host.ts";
import { threeHosts } from "./three-hosts.ts";
import { type Host, hosts } from "./workflows.ts";

const database = testDatabase({ perTest: true });

interface Death {
  readonly host: Host;
  /** The number of the call among those of the host, from 1 on. */
  readonly number: number;
  readonly when: Exclude<CallFate, "passes">;
}

/** A minute of lease, and the two minutes in which a look at what is in motion comes. */
const overMs = 3 * 60_000 + 5_000;

async function aStage() {
  const calls = { cloudflare: 0, aws: 0, node: 0 };
  let death: Death | undefined;
  let hasDied = false;
  const clock = await database.turnClock();
  await clock.goOn();
  const fateOf = (host: Host): CallFate => {
    calls[host] += 1;
    if (hasDied || death?.host !== host || death.number !== calls[host]) return "passes";
    hasDied = true;
    return death.when;
  };
  const stage = await threeHosts(database, { clock, fateOf });
  const { world, dead, revive, turn, start, signal } = stage;

  /** Time passes while a host is dead, as much as may pass until others look at what it has left. */
  const recover = async () => {
    await turn(overMs);
    await revive();
  };
  /** Asks until it is answered: whoever asks a host that died over it asks again. */
  const persist = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (dead.size === 0) throw error;
        await recover();
      }
    }
  };
  const until = async (runId: string, records: number) => {
    const count = async () => {
      if (dead.size > 0) await recover();
      const { rows } = await database.pool.query<{ status: string; last_position: number }>(
        "select status, last_position from layover.run_state where run_id = $1",
        [runId],
      );
      return Number(rows[0]?.last_position);
    };
    await expect.poll(count, { timeout: 60_000, interval: 50 }).toBeGreaterThanOrEqual(records);
  };
  return {
    calls,
    output: stage.output,
    /** Carries an order through the three hosts. Answers whether somebody died, and what the world saw of each step. */
    async order(id: string, of?: Death) {
      const seen = world.asked.length;
      death = of;
      hasDied = false;
      for (const host of hosts) calls[host] = 0;
      const runId = await persist(() => start("cloudflare", "hop", { world: world.url }, { id }));
      await until(runId, 1);
      await persist(() => signal("aws", runId, "go", 1, "first"));
      await until(runId, 4);
      await persist(() => signal("node", runId, "go", 2, "second"));
      await until(runId, 6);
      death = undefined;
      if (dead.size > 0) await recover();
      const asked = world.asked.slice(seen).map((path, index) => ({ path, key: world.keys[seen + index] }));
      const { result, status } = await stage.get("node", runId);
      return { hasDied, asked, result, status, calls: { ...calls } };
    },
  };
}

test("a host dies at any call, and of an order nothing is lost and nothing done twice", {
  timeout: 1_800_000,
}, async () => {
  const stage = await aStage();
  onTestFinished(({ task }) => {
    if (task.result?.state === "fail") console.error(stage.output());
  });
  const calm = await stage.order("calm");
  expect(calm.asked.map(({ path }) => path)).toEqual(["one", "two", "three"]);
  const all = hosts.flatMap((host) =>
    Array.from({ length: calm.calls[host] }, (_, index) => index + 1).flatMap((number) =>
      (["dies before", "dies after"] as const).map((when): Death => ({ host, number, when })),
    ),
  );
  const chance = new Chance(testSeed ?? 19, 0);
  const played = isWhole ? all : all.filter(() => chance.below(4) === 0);
  let deaths = 0;
  for (const death of played) {
    const words = `${death.host} ${death.when} its call ${death.number}`;
    const { hasDied, asked, result, status } = await stage.order(words, death);
    if (hasDied) deaths += 1;
    expect({ words, status }).toEqual({ words, status: "completed" });
    expect(result, words).toEqual(["one", "two", "three"].map((path) => expect.stringMatching(`^${path} on `)));
    // A body may run again if its process has died. Then it comes with the same key, and the world knows it.
    const effects = new Set(asked.map(({ path, key }) => `${path} ${key}`));
    expect([...effects].map((effect) => effect.split(" ")[0]).toSorted(), words).toEqual(["one", "three", "two"]);
    expect(asked.length, words).toBeLessThanOrEqual(4);
  }
  // Ticks come between an order's calls, so the last calls of a host are not always there.
  expect(deaths).toBeGreaterThan(played.length / 2);
});
