/**
 * A host dies at any one await of an order that goes through all three, as one run or as three that invoke each other: before or after any call of the database, and any request to a
 * service, to another host or to the world outside. Before: nobody has got the request. After: it was carried out, and the host has not
 * heard the answer. Nothing is lost, and the world outside sees no effect twice.
 */
import { expect, onTestFinished, test, vi } from "vitest";
import { Chance } from "../../engine/chance.ts";
import { testDatabase } from "../../postgres/database.ts";
import { isWhole, testSeed } from "../../size.ts";
import type { CallFate } from "./one-host.ts";
import { threeHosts } from "./three-hosts.ts";
import { type Host, hosts } from "./workflows.ts";

const database = testDatabase({ perTest: true });

type Kind = "one run" | "three runs";

interface Death {
  readonly host: Host;
  /** The number of the request among those of the host, from 1 on. */
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
  /** Waits until the query answers something. */
  const until = async (text: string, parameter: unknown): Promise<string> => {
    const look = async () => {
      if (dead.size > 0) await recover();
      const { rows } = await database.pool.query<{ id: string }>(text, [parameter]);
      return rows[0]?.id;
    };
    return String(await vi.waitUntil(look, { timeout: 60_000, interval: 50 }));
  };
  const untilRecorded = async (runId: string, records: number) =>
    await until(`select run_id as id from layover.run_state where run_id = $1 and last_position >= ${records}`, runId);
  const input = { world: world.url };
  const carriers: Readonly<Record<Kind, (id: string) => Promise<string>>> = {
    async "one run"(id) {
      const runId = await persist(() => start("cloudflare", "hop", input, { id }));
      await untilRecorded(runId, 1);
      await persist(() => signal("aws", runId, "go", 1, "first"));
      await untilRecorded(runId, 4);
      await persist(() => signal("node", runId, "go", 2, "second"));
      await untilRecorded(runId, 6);
      return runId;
    },
    async "three runs"(id) {
      const runId = await persist(() => start("cloudflare", "of-cloudflare", input, { id }));
      const inner = await until(
        `select i.id from layover.run i join layover.run m on m.id = i.parent_run_id where m.parent_run_id = $1`,
        runId,
      );
      await persist(() => signal("node", inner, "go", 1, "once"));
      await until("select run_id as id from layover.run_state where run_id = $1 and ended_at is not null", runId);
      return runId;
    },
  };
  return {
    output: stage.output,
    /** Carries an order through the three hosts. Answers whether somebody died, and what the world saw of each step. */
    async order(kind: Kind, id: string, of?: Death) {
      const seen = world.asked.length;
      death = of;
      hasDied = false;
      for (const host of hosts) calls[host] = 0;
      const runId = await carriers[kind](id);
      death = undefined;
      if (dead.size > 0) await recover();
      const asked = world.asked.slice(seen).map((path, index) => ({ path, key: world.keys[seen + index] }));
      const { result, status } = await stage.get("node", runId);
      return { hasDied, asked, result, status, calls: { ...calls } };
    },
  };
}

test.each<[Kind, paths: readonly string[]]>([
  ["one run", ["one", "two", "three"]],
  ["three runs", ["first", "third", "second", "last"]],
])(
  "a host dies at any request, and of an order of %s nothing is lost and nothing done twice",
  {
    timeout: 1_800_000,
  },
  async (kind, paths) => {
    const stage = await aStage();
    onTestFinished(({ task }) => {
      if (task.result?.state === "fail") console.error(stage.output());
    });
    const calm = await stage.order(kind, "calm");
    expect(calm.asked.map(({ path }) => path)).toEqual(paths);
    const all = hosts.flatMap((host) =>
      Array.from({ length: calm.calls[host] }, (_, index) => index + 1).flatMap((number) =>
        (["dies before", "dies after"] as const).map((when): Death => ({ host, number, when })),
      ),
    );
    const chance = new Chance(testSeed ?? 19, 0);
    const played = isWhole ? all : all.filter(() => chance.below(10) === 0);
    let deaths = 0;
    for (const death of played) {
      const words = `${death.host} ${death.when} its request ${death.number}`;
      const { hasDied, asked, result, status } = await stage.order(kind, words, death);
      if (hasDied) deaths += 1;
      expect({ words, status }).toEqual({ words, status: "completed" });
      expect(result, words).toEqual(paths.map((path) => expect.stringMatching(`^${path} on `)));
      // A body may run again if its process has died. Then it comes with the same key, and the world knows it.
      const effects = new Set(asked.map(({ path, key }) => `${path} ${key}`));
      expect([...effects].map((effect) => effect.split(" ")[0]).toSorted(), words).toEqual(paths.toSorted());
      expect(asked.length, words).toBeLessThanOrEqual(paths.length + 1);
    }
    // Ticks come between an order's calls, so the last calls of a host are not always there.
    expect(deaths).toBeGreaterThan(played.length / 2);
  },
);
