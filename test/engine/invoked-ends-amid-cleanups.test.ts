/** An invoked run that ends while its parent, which was cancelled, cleans up. */
import type { CleanupStep } from "layover";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancel, recordsOf } from "./cancelling.ts";
import { child, childrenOf, familiesOn } from "./families.ts";
import { tested } from "./playing.ts";
import type { World } from "./world.ts";

const database = testDatabase();
const family = familiesOn(database);

/** A cleanup that takes a minute. `slow` is the body of a step in it. */
type Tidy = (step: Pick<CleanupStep, "run" | "sleep">, slow: () => Promise<void>) => Promise<unknown>;
const cleanups: Readonly<Record<string, Tidy>> = {
  "at work in the parent's turn": (step, slow) => step.run("a", slow),
  "at work in branches": (step, slow) => Promise.all([step.run("a", slow), step.run("b", slow)]),
  asleep: (step) => step.sleep("a", "1 minute"),
};

/** A run that was cancelled while it waited for another one, which is at work for 20 seconds more. */
async function aClosingFamily(tidy: Tidy, onParentEnd: "cancel" | "abandon") {
  const told: unknown[] = [];
  const bodies: string[] = [];
  const compensate = (result: unknown, { outcome }: { readonly outcome: string }) => void told.push([result, outcome]);
  const slow = async () => {
    bodies.push("slow");
    await world.foreign("1 minute");
  };
  const world: World = await family(
    async ({ step }) => {
      try {
        await step.invoke("it", child, { nr: 1 }, { compensate, onParentEnd });
      } finally {
        await step.cleanup("tidy", async ({ step }) => {
          await tidy(step, slow);
          await step.run("last", () => void bodies.push("last"));
        });
      }
    },
    child.handler(async ({ step }) => {
      await step.run("work", () => world.foreign("30s"), { timeout: "5 minutes" });
      return "booked";
    }),
  );
  const run = await world.start(tested);
  await world.pass("10s");
  await cancel(world, run);
  return { world, run, told, bodies };
}

const booked = ["completed", ["booked", "succeeded"]] as const;
const stopped = ["cancelled", [undefined, "unknown"]] as const;

test.each([
  ["at work in the parent's turn", "cancel", ...stopped, ["a"]],
  ["at work in the parent's turn", "abandon", ...booked, ["a"]],
  ["at work in branches", "cancel", ...stopped, ["a", "b"]],
  ["at work in branches", "abandon", ...booked, ["a", "b"]],
  ["asleep", "cancel", ...stopped, ["a"]],
  ["asleep", "abandon", ...booked, ["a"]],
] as const)(
  "the end of an invoked run that comes while a cleanup of its parent is %s is recorded and told to the undo, and the cleanup goes on (%s: it is %s)",
  async (what, onParentEnd, status, undo, places) => {
    const tidy = cleanups[what];
    if (tidy === undefined) throw new Error("no such cleanup");
    const { world, run, told, bodies } = await aClosingFamily(tidy, onParentEnd);
    await world.pass("40s");
    expect(await childrenOf(world)).toMatchObject([{ status }]);
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelling" });
    expect(await recordsOf({ world, run })).toEqual(["closing "]);
    expect(await world.run(run)).toMatchObject({ status: "cancelled", undos: { owed: 1, done: 1, failed: 0 } });
    const tidied = places.map((place) => `${what === "asleep" ? "sleep" : "step"} tidy/${place}`);
    const records = ["closing ", ...tidied, "step tidy/last", "child it", "ending ", "step [undo]/it"];
    expect(await recordsOf({ world, run })).toEqual(records);
    expect(told).toEqual([undo]);
    expect(bodies).toEqual([...(what === "asleep" ? [] : places.map(() => "slow")), "last"]);
    expect(world.time).toBeGreaterThanOrEqual(70_000);
    expect(world.time).toBeLessThan(75_000);
  },
);
