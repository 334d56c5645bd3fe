/** Runs that their parent waits for no more: they are cancelled, or go on if `onParentEnd` says so, or are taken again. */
import { NonRetryableError, workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { child, childrenOf, familiesOn, waiting } from "./families.ts";
import { type TestedHandler, tested } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const family = familiesOn(database);

describe("onParentEnd", () => {
  type InvokeStep = Parameters<TestedHandler>[0]["step"];
  const ways: Record<string, (step: InvokeStep, options: { onParentEnd?: "abandon" }) => Promise<unknown>> = {
    "the end of the parent": async (step, options) => {
      await Promise.race([step.invoke("it", child, { nr: 1 }, options), step.sleep("nap", "1 hour")]);
    },
    "the failure of the parent": async (step, options) => {
      await Promise.race([step.invoke("it", child, { nr: 1 }, options), step.sleep("nap", "1 hour")]);
      throw new NonRetryableError("no");
    },
    "the timeout of the invoke": async (step, options) => {
      await step.invoke("it", child, { nr: 1 }, { timeout: "1 hour", ...options }).catch(() => {});
      await step.sleep("after", "1 day");
    },
    "a race that is lost": async (step, options) => {
      await step.race("first", [
        ({ step }) => step.invoke("it", child, { nr: 1 }, options),
        ({ step }) => step.sleep("nap", "1 hour"),
      ]);
      await step.sleep("after", "1 day");
    },
  };

  describe.each(Object.entries(ways))("at %s", (_, way) => {
    test("cancels the run by default, at once", async () => {
      const world = await family(async ({ step }) => way(step, {}), waiting);
      await world.start(tested);
      await world.pass("61 minutes");
      expect((await childrenOf(world))[0]).toMatchObject({
        status: "cancelled",
        error: { message: "the run was cancelled: its parent waits for it no more" },
      });
    });

    test("lets the run go on if it says so", async () => {
      const world = await family(async ({ step }) => way(step, { onParentEnd: "abandon" }), waiting);
      await world.start(tested);
      await world.pass("61 minutes");
      expect((await childrenOf(world))[0]).toMatchObject({ status: "waiting" });
    });
  });

  describe.each(["cancel", "terminate"] as const)("at the %s of the parent", (verb) => {
    test.each([
      ["cancels the run by default", {}, "cancelled"],
      ["lets the run go on if it says so", { onParentEnd: "abandon" }, "waiting"],
    ] as const)("%s", async (_, options, status) => {
      const world = await family(async ({ step }) => step.invoke("it", child, { nr: 1 }, options), waiting);
      const run = await world.start(tested);
      await world.pass("1 hour");
      await world.ask((client) => client[verb](run.runId));
      await world.pass("3 minutes");
      expect(await world.get(run.runId)).toMatchObject({ status: "cancelled" });
      expect(await childrenOf(world)).toMatchObject([{ status }]);
    });
  });

  test.each([
    ["step.map", (step: InvokeStep) => step.map("all", [1, 2], (nr, { step }) => step.invoke("it", child, { nr }))],
    ["Promise.all", (step: InvokeStep) => Promise.all([1, 2].map((nr) => step.invoke("it", child, { nr })))],
  ])(
    "lets the run go on until the end of a parent that has caught the failure of another one in %s",
    async (_, way) => {
      const oneFails = child.handler(async ({ input, step }) => {
        if (input.nr === 1) throw new NonRetryableError("no");
        await step.waitForSignal("go");
        return "went";
      });
      const world = await family(async ({ step }) => {
        const caught = await way(step).catch(() => "caught");
        await step.sleep("after", "1 day");
        return caught;
      }, oneFails);
      const run = await world.start(tested);
      await world.pass("23 hours");
      const statuses = async () => (await childrenOf(world)).map(({ status }) => status).toSorted();
      expect(await statuses()).toEqual(["failed", "waiting"]);
      expect(await world.run(run)).toMatchObject({ status: "completed", result: "caught" });
      await world.pass("3 minutes");
      expect(await statuses()).toEqual(["cancelled", "failed"]);
    },
  );

  test("cancels the runs of the runs, too", async () => {
    const grandchild = workflow({ name: "grandchild", version: 1, signals: { go: z.unknown() } });
    const world = await World.begin(database, {
      workflows: [
        tested.handler(async ({ step }) => step.invoke("it", child, { nr: 1 })),
        child.handler(async ({ step }) => {
          await step.invoke("it", grandchild);
          return "";
        }),
        grandchild.handler(async ({ step }) => step.waitForSignal("go")),
      ],
    });
    const run = await world.start(tested);
    await world.pass("1 hour");
    await world.ask((client) => client.cancel(run.runId));
    await world.pass("5 minutes");
    expect((await childrenOf(world, grandchild))[0]).toMatchObject({ status: "cancelled" });
  });

  describe("when the parent is restarted, which starts another run", () => {
    async function aRestartedParent(options: { readonly onParentEnd?: "abandon" }) {
      const world = await family(async ({ step }) => step.invoke("it", child, { nr: 1 }, options), waiting);
      const run = await world.start(tested);
      await world.pass("1 hour");
      await world.ask((client) => client.pause(run.runId));
      await world.ask((client) => client.restart(run.runId));
      await world.pass("3 minutes");
      const statuses = async () => (await childrenOf(world)).map(({ status }) => status);
      return { world, run, statuses };
    }

    test("cancels the run by default", async () => {
      const { statuses } = await aRestartedParent({});
      expect(await statuses()).toEqual(["waiting", "cancelled"]);
    });

    test("lets the run go on if it says so, and the end of that one is told to nobody", async () => {
      const { world, run, statuses } = await aRestartedParent({ onParentEnd: "abandon" });
      const [second, first] = await childrenOf(world);
      expect(await statuses()).toEqual(["waiting", "waiting"]);
      await world.signal({ runId: first?.runId ?? "" }, child, "go", null);
      await world.pass("1 hour");
      expect(await statuses()).toEqual(["waiting", "completed"]);
      expect(await world.get(run.runId)).toMatchObject({ status: "waiting" });
      await world.signal({ runId: second?.runId ?? "" }, child, "go", null);
      expect(await world.run(run)).toMatchObject({ status: "completed", result: "went" });
    });
  });

  test("cancels the run when the parent continues as new", async () => {
    const world = await family(async ({ step, run }) => {
      if ((await step.run("lap", () => world.time)) > 0) return run.runId;
      await Promise.race([step.invoke("it", child, { nr: 1 }), step.sleep("nap", "1 hour")]);
      return await step.continueAsNew(undefined);
    }, waiting);
    await world.start(tested);
    await world.pass("65 minutes");
    expect((await childrenOf(world))[0]).toMatchObject({ status: "cancelled" });
  });

  test("a parent that is retried takes the run as it stands", async () => {
    let isDown = true;
    const failing = child.handler(async ({ step }) =>
      step.run("try", () => {
        if (isDown) throw new NonRetryableError("down");
        return "up";
      }),
    );
    const world = await family(async ({ step }) => step.invoke("it", child, { nr: 1 }), failing);
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { name: "ChildFailedError" } });
    const [failed] = await childrenOf(world);
    isDown = false;
    await expect(world.ask((client) => client.retry(run.runId))).rejects.toMatchObject({
      code: "child_failed",
      details: { children: failed?.runId },
    });
    await world.ask((client) => client.retry(failed?.runId ?? ""));
    await world.pass("1 minute");
    await world.ask((client) => client.retry(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "up" });
    expect(await childrenOf(world)).toHaveLength(1);
  });

  test("a parent that is cancelled after its retry cancels the run that it had started before", async () => {
    let isDown = true;
    const failing = child.handler(async ({ step }) => {
      await step.run("try", () => {
        if (isDown) throw new NonRetryableError("down");
      });
      await step.sleep("nap", "1 day");
      return "up";
    });
    const world = await family(async ({ step }) => step.invoke("it", child, { nr: 1 }), failing);
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    isDown = false;
    const [started] = await childrenOf(world);
    await world.ask((client) => client.retry(started?.runId ?? ""));
    await world.pass("1 minute");
    await world.ask((client) => client.retry(run.runId));
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({ status: "waiting" });
    await world.ask((client) => client.cancel(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(await childrenOf(world)).toMatchObject([{ status: "cancelled" }]);
  });

  test.each([
    ["has cleaned up", "5 minutes", 300_000],
    ["has had a day, and is given up then", "3 days", 86_400_000],
  ] as const)("has the undos of the parent wait until the run %s", async (_, nap, ms) => {
    const order: unknown[] = [];
    const told: unknown[] = [];
    const cleaning = child.handler(async ({ step }) => {
      try {
        await step.waitForSignal("go");
      } finally {
        await step.cleanup("tidy", ({ step }) => step.sleep("nap", nap));
        order.push("child");
      }
      return "";
    });
    const world: World = await family(async ({ step }) => {
      await step.run("charge", () => 1, { compensate: () => order.push(["undo", world.time]) });
      await Promise.all([
        step.invoke("it", child, { nr: 1 }, { compensate: (_, { error }) => told.push(error?.code) }),
        step.sleep("nap", "1 hour").then(() => {
          throw new NonRetryableError("no");
        }),
      ]);
    }, cleaning);
    // Its cleanup may take longer than a day here.
    const run = await world.start(tested);
    await world.pass("61 minutes");
    if (ms > 3_600_000)
      await database.pool.query("update layover.run_state set timeout_at = null where cancelled_position is not null");
    expect(await world.get(run.runId)).toMatchObject({ status: "compensating" });
    expect(await world.run(run)).toMatchObject({ status: "failed", undos: { owed: 2, done: 2, failed: 0 } });
    const isGivenUp = ms > 3_600_000;
    expect(told).toEqual([isGivenUp ? "given_up" : undefined]);
    const { attempts } = await world.history(run);
    expect(attempts).toMatchObject(isGivenUp ? [{ path: "it", number: 1, error: { code: "given_up" } }] : []);
    const undo = order.find((each) => Array.isArray(each));
    const late = Array.isArray(undo) ? Number(undo[1]) - 3_600_000 - ms : Number.NaN;
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(6 * 3_600_000);
    if (ms < 3_600_000) expect(order[0]).toBe("child");
  });
});
