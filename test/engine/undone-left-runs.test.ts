/** Invoked runs that nobody waits for any more: each is undone when its parent fails, also if it is long gone by then. */
import { NonRetryableError } from "layover";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { child, childrenOf, familiesOn } from "./families.ts";
import { tested } from "./playing.ts";
import type { World } from "./world.ts";

const family = familiesOn(testDatabase());
const dayMs = 86_400_000;

interface Told {
  readonly outcome: string;
  readonly original: { readonly runId?: string };
  readonly error: { readonly code?: string } | undefined;
}

const remove = async (world: World) => {
  const [run] = await childrenOf(world);
  await world.ask((client) => client.delete(run?.runId ?? ""));
};

test.each<readonly [string, number, (world: World) => Promise<unknown>, unknown]>([
  ["there", 90, async () => {}, ["booked", "succeeded"]],
  ["pruned", 3, async () => {}, [undefined, "unknown"]],
  ["deleted by a person", 90, remove, [undefined, "unknown"]],
])(
  "a run that has lost a race and is %s is undone, and its undo is told what is known",
  async (_, keepDays, pass, undone) => {
    const told: unknown[] = [];
    const world = await family(
      async ({ step }) => {
        await step.race("first", [
          ({ step }) =>
            step.invoke(
              "it",
              child,
              { nr: 1 },
              {
                onParentEnd: "abandon",
                compensate: (result, { outcome, original }) => void told.push([result, outcome, original.runId]),
              },
            ),
          ({ step }) => step.sleep("short", "1 minute"),
        ]);
        await step.sleep("nap", "20 days");
        throw new NonRetryableError("no");
      },
      child.handler(async ({ step }) => {
        await step.sleep("nap", "1 hour");
        return "booked";
      }),
      { keepMs: keepDays * dayMs, keepFailedMs: 90 * dayMs },
    );
    const run = await world.start(tested);
    await world.pass("2 hours");
    const [invoked] = await childrenOf(world);
    expect(invoked).toMatchObject({ status: "completed" });
    await pass(world);
    expect(await world.run(run)).toMatchObject({ status: "failed", undos: { owed: 1, done: 1, failed: 0 } });
    expect(told).toEqual([[...Object(undone), invoked?.runId]]);
  },
);

test.each(
  (["cancel", "abandon"] as const).flatMap((onParentEnd) =>
    (
      [
        ["pruned", 3, async () => {}],
        ["deleted by a person", 90, remove],
      ] as const
    ).map(([gone, keepDays, pass]) => ({ gone, onParentEnd, keepDays, pass })),
  ),
)(
  "a run that is $gone while its end stands untaken is undone when its parent is cancelled (onParentEnd: $onParentEnd)",
  async ({ onParentEnd, keepDays, pass }) => {
    const told: unknown[] = [];
    const world = await family(
      async ({ step }) => {
        const compensate = (result: unknown, { outcome, original, error }: Told) =>
          void told.push([result, outcome, original.runId, error?.code]);
        await step.invoke("it", child, { nr: 1 }, { onParentEnd, compensate });
      },
      child.handler(async ({ step }) => {
        await step.sleep("nap", "1 hour");
        return "booked";
      }),
      { keepMs: keepDays * dayMs, keepFailedMs: 90 * dayMs },
    );
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.ask((client) => client.pause(run.runId));
    await world.pass("2 hours");
    const [invoked] = await childrenOf(world);
    expect(invoked).toMatchObject({ status: "completed" });
    await pass(world);
    await world.pass("5 days");
    await world.tick(); // prunes
    expect(await childrenOf(world)).toEqual([]);
    await world.ask((client) => client.cancel(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "cancelled", undos: { owed: 1, done: 1, failed: 0 } });
    expect(told).toEqual([[undefined, "unknown", invoked?.runId, "interrupted"]]);
  },
);

test("a history that is full takes no ends of invoked runs any more, and their undos are told no results", async () => {
  const told: string[] = [];
  const results = Array.from({ length: 40 }, (_, nr) => nr);
  const world = await family(
    async ({ step }) => {
      await step.map("all", results, (nr, { step }) =>
        step.invoke("it", child, { nr }, { compensate: (_, { outcome }) => void told.push(outcome) }),
      );
    },
    child.handler(async ({ step, input }) => {
      await step.sleep("nap", "1 minute");
      return `${input.nr}`.padEnd(1_000_000, "x");
    }),
  );
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({
    status: "failed",
    error: { code: "history_limit" },
    undos: { owed: 40, failed: 0 },
  });
  const { records } = await world.history(run);
  const ends = records.filter(({ kind }) => kind === "child").length;
  expect(ends).toBeLessThanOrEqual(18);
  expect(told.filter((outcome) => outcome === "succeeded")).toHaveLength(ends);
  expect(told).toHaveLength(40);
});
