/** A handler that a process keeps at rest stands where the history stands: what was not recorded, it has not seen. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { tested, worldOf } from "./playing.ts";
import { recordBranch } from "./recording.ts";
import type { World } from "./world.ts";

const database = testDatabase();

describe.each([2, 3])("among %i processes", (processes) => {
  test.each([0, 1, 2, 3, 4, 5])(
    "a handler whose finish came when somebody else had claimed does not go on with what it saw (%i)",
    async (passing) => {
      let bodies = 0;
      let finishes = 0;
      const world = await worldOf(
        database,
        async ({ step }) => {
          const counts: number[] = [];
          for (let place = 0; place < 6; place += 1) counts.push(await step.run("count", () => ++bodies));
          return [...counts, await step.run("all", () => counts.join())];
        },
        { processes },
      );
      /** The database takes neither this result nor a renewal until its body was begun once more. */
      let bodiesBefore: number | undefined;
      world.fate = ({ what }) => {
        if (what !== "finish_turns" && what !== "renew_leases") return "passes";
        if (what === "finish_turns" && ++finishes === passing + 1) bodiesBefore = bodies;
        return bodies === bodiesBefore ? "fails before" : "passes";
      };
      const run = await world.start(tested);
      expect(await world.run(run)).toMatchObject({ status: "completed" });
      expect(bodies).toBeGreaterThan(6);
      const recorded = (await world.history(run)).records.map(({ value }) => value);
      expect((await world.get(run.runId)).result).toEqual(recorded);
      expect(recorded.at(-1)).toBe(recorded.slice(0, 6).join());
    },
  );
});

test("a body sees what its handler knew when it asked, though the handler goes on meanwhile", async () => {
  const world: World = await worldOf(database, async ({ step }) => {
    let said = "before";
    const beside = step.run("beside", async () => {
      await world.foreign("10s");
      return said;
    });
    await step.waitForSignal("go");
    said = "after";
    return [said, await beside];
  });
  const run = await world.start(tested);
  await world.settle();
  await world.signal(run, tested, "go", 1);
  expect(await world.run(run)).toMatchObject({ status: "completed", result: ["after", "before"] });
});

test("a handler whose finish was deferred goes on from what was recorded instead", async () => {
  const world: World = await worldOf(database, async ({ step }) => {
    const beside = step.run("beside", () => world.foreign("10s"));
    return [await step.waitForSignal("go"), await beside];
  });
  const run = await world.start(tested);
  await world.settle();
  let isRecorded = false;
  world.fate = async ({ what }) => {
    if (what === "finish_turns" && !isRecorded) {
      isRecorded = true;
      await recordBranch(database, run.runId, world.namespace);
    }
    return "passes" as const;
  };
  await world.signal(run, tested, "go", 1);
  expect(await world.run(run)).toMatchObject({ status: "completed", result: [1, "recorded meanwhile"] });
  expect((await world.history(run)).records.map(({ path }) => path)).toEqual(["beside", "go"]);
});
