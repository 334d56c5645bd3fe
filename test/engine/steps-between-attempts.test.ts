/** A step that waits for its next attempt, and new code that asks for something beside it. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type TestedContext, tested } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

type Charge = (step: Pick<TestedContext["step"], "run">) => Promise<unknown>;
type Handle = (context: TestedContext, charge: Charge) => Promise<unknown>;

const alone: Handle = ({ step }, charge) => charge(step);
const mapOf =
  (items: readonly string[]): Handle =>
  async ({ step }, charge) => {
    const one = { maxConcurrency: 1 };
    const all = await step.map(
      "all",
      items,
      (item, { step }) => (item === "a" ? charge(step) : step.run(item, () => 1)),
      one,
    );
    return all[0];
  };

const beside: Readonly<Record<string, readonly [old: Handle, fresh: Handle]>> = {
  "a sleep": [alone, ({ step }, charge) => Promise.race([charge(step), step.sleep("limit", "1 hour")])],
  "a step": [alone, async ({ step }, charge) => (await Promise.all([charge(step), step.run("other", () => 1)]))[0]],
  "more items of its map": [mapOf(["a"]), mapOf(["a", "b", "c"])],
};

test.each(Object.entries(beside))(
  "new code asks for %s beside it: it has its next attempt in time",
  async (_, code) => {
    const attempts: [number: number, at: number][] = [];
    const charge: Charge = (step) =>
      step.run(
        "charge",
        ({ attempt }) => {
          attempts.push([attempt, Math.round(world.time / 60_000)]);
          if (attempt < 3) throw new Error("no");
          return "paid";
        },
        { retry: { maxAttempts: 3, delay: "4 minutes", backoff: 1, jitter: false } },
      );
    const [old, fresh] = code.map((handle) => tested.handler((context) => handle(context, charge)));
    const world = await World.begin(database, { workflows: old === undefined ? [] : [old] });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.deploy({ workflows: fresh === undefined ? [] : [fresh] });
    await world.pass("30 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "completed", result: "paid" });
    expect(attempts).toEqual([
      [1, 0],
      [2, 4],
      [3, 8],
    ]);
    expect(world.statements("claim_turns")).toBeLessThan(15);
  },
);
