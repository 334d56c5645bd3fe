/** Runs that a run starts while processes die and calls fail: each is started once, and its end reaches the parent once. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { child, childrenOf, familiesOn } from "./families.ts";
import { tested } from "./playing.ts";
import type { Fate } from "./world-options.ts";

const database = testDatabase();
const family = familiesOn(database);

describe("whatever dies in between", () => {
  test.each(Array.from({ length: 12 }, (_, seed) => seed + 1))(
    "each run is started once, and its end reaches the parent once (%i)",
    async (seed) => {
      let bodies = 0;
      const counting = child.handler(async ({ input, step }) => {
        await step.sleep("nap", "10s");
        return await step.run("double", () => {
          bodies += 1;
          return `${input.nr * 2}`;
        });
      });
      const world = await family(
        async ({ step }) => {
          const { runId } = await step.start("audit", child, { nr: 1 });
          const ends = await step.map(
            "each",
            [1, 2, 3, 4],
            (nr, { step }) => step.invoke("twice", child, { nr }),
            seed % 2 === 0 ? {} : { maxConcurrency: 2 },
          );
          return [runId, ends];
        },
        counting,
        { seed, isShuffled: true },
      );
      const run = await world.start(tested);
      let calls = 0;
      world.fate = () => {
        calls += 1;
        if (calls > 120 || world.chance.below(5) > 0) return "passes";
        return world.chance.pick<Fate>(["fails before", "fails after", "dies before", "dies after"]);
      };
      const view = await world.run(run);
      expect(view).toMatchObject({ status: "completed", result: [expect.any(String), ["2", "4", "6", "8"]] });
      await world.pass("10 minutes");
      const children = await childrenOf(world);
      expect(children.map(({ status }) => status)).toEqual(children.map(() => "completed"));
      expect(children).toHaveLength(5);
      expect((await world.history(run)).records.filter(({ kind }) => kind === "child")).toHaveLength(4);
      expect(bodies).toBeGreaterThanOrEqual(5);
    },
  );
});
