/**
 * Each ring uses up one alarm. So whatever comes of its tick, an alarm stands for what is due next: also where it fails, and
 * where it rang too early. (Platforms may ring again by themselves, or not.)
 */
import { expect, test } from "vitest";
import { type Query, QueryError } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import { Calls } from "../../src/postgres/calls.ts";

const noon = Date.UTC(2026, 0, 1, 12);
const minute = 60_000;

/** `fails`: the SQL function whose calls break. `nextDueAt`: what the others are due at. */
function anEngine({ fails, nextDueAt = null }: { readonly fails?: string; readonly nextDueAt?: number | null }) {
  const armed: number[] = [];
  const answers: Readonly<Record<string, object>> = {
    read_clock: { now: noon },
    prune_runs: { pruned: 0 },
    list_due: { now: noon, isOurs: true, isNew: false, runs: [], nextDueAt },
  };
  const answer = async (text: string) => {
    const name = /layover\.(\w+)/.exec(text)?.[1] ?? "";
    if (name === fails) throw new QueryError("no such function", { sqlState: "42883", isRolledBack: true });
    return [{ answer: answers[name] }];
  };
  const query: Query = Object.assign(answer, { endpoint: "here" });
  const calls = new Calls({
    query,
    namespace: "default",
    alarm: async (instants) => void armed.push(...instants.map(({ at }) => at)),
    host: { monotonic: () => 0, after: () => () => {} },
  });
  return { armed, engine: new Engine({ calls, dispatch: async () => {}, workflows: [] }) };
}

test.each(["list_due", "prune_runs"])(
  "a tick whose %s fails leaves an alarm that rings within a minute",
  async (name) => {
    const { engine, armed } = anEngine({ fails: name });
    await expect(engine.tick()).rejects.toThrow("no such function");
    expect(armed).toEqual([noon + minute]);
  },
);

test("a tick that never heard from the database fails, and can arm nothing", async () => {
  const { engine, armed } = anEngine({ fails: "read_clock" });
  await expect(engine.tick()).rejects.toThrow("no such function");
  expect(armed).toEqual([]);
});

test("a tick arms what is due next, and again if it rang for that too early, by a clock that is ahead", async () => {
  const { engine, armed } = anEngine({ nextDueAt: noon + 1_000 });
  await engine.tick();
  await engine.tick();
  expect(armed).toEqual([noon + 1_000, noon + 1_000]);
});

test("a tick does not arm again what is not about to ring", async () => {
  const { engine, armed } = anEngine({ nextDueAt: noon + 2 * minute });
  await engine.tick();
  await engine.tick();
  expect(armed).toEqual([noon + 2 * minute]);
});
