/** Maps that invoke a run for each item, so many at once: when a slot comes free, and who gets it. */
import { NonRetryableError } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { child, childrenOf, familiesOn, waiting } from "./families.ts";
import { tested } from "./playing.ts";

const database = testDatabase();
const family = familiesOn(database);

describe("step.invoke", () => {
  test.each([
    ["all at once: of its parent, one that starts them and one that takes their ends", 8, undefined, 2],
    ["and so for twice as many", 16, undefined, 2],
    ["in sets, where so many have a slot: of its parent, one for each set of ends", 16, 4, 5],
    ["one by one, where one has a slot: of its parent, one for each end, which starts the next run", 8, 1, 9],
  ])("in a map costs a turn of each run, and none of a branch: %s", async (_, count, maxConcurrency, ofParent) => {
    const world = await family(
      async ({ step }) => {
        const each = Array.from({ length: count }, (_, nr) => nr);
        const options = maxConcurrency === undefined ? {} : { maxConcurrency };
        return (await step.map("each", each, (nr, { step }) => step.invoke("it", child, { nr }), options)).length;
      },
      child.handler(async () => "done"),
      { platform: "cloud", batch: 1 },
    );
    expect(await world.run(await world.start(tested))).toMatchObject({ status: "completed", result: count });
    expect(world.statements("claim_turns")).toBe(count + ofParent);
    expect(world.statements("finish_turns")).toBe(count + ofParent);
  });

  describe("in a map with a maxConcurrency", () => {
    test.each(["complete", "cancel", "terminate"] as const)(
      "starts the next run when one of them has ended (%s)",
      async (way) => {
        const world = await family(async ({ step }) => {
          const each = [1, 2, 3, 4, 5];
          const ends = await step.mapSettled("each", each, async (nr, { step }) => step.invoke("it", child, { nr }), {
            maxConcurrency: 2,
          });
          return ends.map(({ status }) => status);
        }, waiting);
        const run = await world.start(tested);
        for (let ended = 0; ended < 5; ended += 1) {
          await world.pass("10 minutes");
          const open = (await childrenOf(world)).filter(({ status }) => status === "waiting");
          expect(open).toHaveLength(Math.min(2, 5 - ended));
          expect(await childrenOf(world)).toHaveLength(Math.min(5, ended + 2));
          const id = open.at(-1)?.runId ?? "";
          if (way === "complete") await world.ask((client) => client.signal(id, "go", null, { contract: child }));
          else await world.ask((client) => client[way](id, {}));
        }
        const status = way === "complete" ? "fulfilled" : "rejected";
        expect(await world.run(run)).toMatchObject({ status: "completed", result: Array(5).fill(status) });
      },
    );

    test("starts each run once, whichever process holds the parent in memory", async () => {
      const world = await family(
        async ({ step }) => {
          const calls = async () => {
            for (let call = 0; call < 6; call += 1) await step.waitForSignal("go");
          };
          const each = step.map("each", [1, 2, 3], (nr, { step }) => step.invoke("it", child, { nr }), {
            maxConcurrency: 1,
          });
          return (await Promise.all([each, calls()]))[0];
        },
        waiting,
        { processes: 2, warmRuns: 10 },
      );
      const run = await world.start(tested);
      for (let ended = 0; ended < 3; ended += 1) {
        await world.pass("1 minute");
        for (let call = 0; call < 2; call += 1) {
          await world.signal(run, tested, "go", null); // another process has the next turn
          await world.pass("1 minute");
        }
        const last = (await childrenOf(world)).find(({ status }) => status === "waiting");
        await world.ask((client) => client.signal(last?.runId ?? "", "go", null, { contract: child }));
      }
      expect(await world.run(run)).toMatchObject({ status: "completed", result: ["went", "went", "went"] });
      expect(await childrenOf(world)).toHaveLength(3);
    });

    test("has the timeout of a run count from its start, and gives its slot to the next one", async () => {
      const world = await family(
        async ({ step }) =>
          step.mapSettled(
            "each",
            [1, 2, 3],
            (nr, { step }) => step.invoke("it", child, { nr }, { timeout: "1 hour" }),
            { maxConcurrency: 1 },
          ),
        waiting,
      );
      const run = await world.start(tested);
      expect(await world.run(run)).toMatchObject({ status: "completed" });
      expect(Math.round(world.time / 3_600_000)).toBe(3);
      await world.pass("3 minutes");
      expect((await childrenOf(world)).map(({ status }) => status)).toEqual(Array(3).fill("cancelled"));
    });

    test("starts no further run once its parent is cancelled", async () => {
      const world = await family(
        async ({ step }) =>
          step.map("each", [1, 2, 3], (nr, { step }) => step.invoke("it", child, { nr }), { maxConcurrency: 1 }),
        waiting,
      );
      const run = await world.start(tested);
      await world.pass("1 hour");
      await world.ask((client) => client.cancel(run.runId));
      await world.pass("5 minutes");
      expect((await childrenOf(world)).map(({ status }) => status)).toEqual(["cancelled"]);
    });

    test("counts the runs again after the restart of its parent", async () => {
      const world = await family(
        async ({ step }) =>
          step.map("each", [1, 2, 3], (nr, { step }) => step.invoke("it", child, { nr }), { maxConcurrency: 1 }),
        waiting,
      );
      const run = await world.start(tested);
      await world.pass("1 hour");
      await world.ask((client) => client.pause(run.runId));
      await world.ask((client) => client.restart(run.runId));
      for (let nr = 1; nr <= 3; nr += 1) {
        await world.pass("3 minutes");
        const open = (await childrenOf(world)).filter(({ status }) => status === "waiting");
        expect(open).toHaveLength(1);
        await world.ask((client) => client.signal(open[0]?.runId ?? "", "go", null, { contract: child }));
      }
      expect(await world.run(run)).toMatchObject({ status: "completed", result: ["went", "went", "went"] });
    });

    test("gives a slot that came free during the pause of its parent to the next run after the resume", async () => {
      const world = await family(
        async ({ step }) =>
          step.map("each", [1, 2], (nr, { step }) => step.invoke("it", child, { nr }), { maxConcurrency: 1 }),
        waiting,
      );
      const run = await world.start(tested);
      await world.pass("1 hour");
      await world.ask((client) => client.pause(run.runId));
      const [first] = await childrenOf(world);
      await world.ask((client) => client.signal(first?.runId ?? "", "go", null, { contract: child }));
      await world.pass("1 hour");
      expect(await childrenOf(world)).toHaveLength(1);
      await world.ask((client) => client.resume(run.runId));
      await world.pass("3 minutes");
      expect((await childrenOf(world)).map(({ status }) => status).sort()).toEqual(["completed", "waiting"]);
    });

    test("goes on with its slots after the retry of a run and of its parent", async () => {
      let isDown = true;
      const failing = child.handler(async ({ input, step }) =>
        step.run("try", () => {
          if (isDown && input.nr === 2) throw new NonRetryableError("down");
          return `${input.nr}`;
        }),
      );
      const world = await family(
        async ({ step }) =>
          step.map("each", [1, 2, 3], (nr, { step }) => step.invoke("it", child, { nr }), { maxConcurrency: 1 }),
        failing,
      );
      const run = await world.start(tested);
      expect(await world.run(run)).toMatchObject({ status: "failed" });
      const failed = (await childrenOf(world)).find(({ status }) => status === "failed");
      isDown = false;
      await world.ask((client) => client.retry(failed?.runId ?? ""));
      await world.pass("1 minute");
      await world.ask((client) => client.retry(run.runId));
      expect(await world.run(run)).toMatchObject({ status: "completed", result: ["1", "2", "3"] });
      expect(await childrenOf(world)).toHaveLength(3);
    });

    test("keeps its slots while a run is held by the pause of its workflow", async () => {
      const world = await family(async ({ step }) =>
        step.map("each", [1, 2, 3], (nr, { step }) => step.invoke("it", child, { nr }), { maxConcurrency: 2 }),
      );
      await world.ask((client) => client.pauseWorkflow("child"));
      const run = await world.start(tested);
      await world.pass("1 hour");
      expect(await childrenOf(world)).toHaveLength(2);
      await world.ask((client) => client.resumeWorkflow("child"));
      expect(await world.run(run)).toMatchObject({ status: "completed", result: ["2", "4", "6"] });
    });
  });
});
