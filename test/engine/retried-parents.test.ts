/** A failed run that is retried takes the runs that it had started as they stand: which of them keep the retry away. */
import { NonRetryableError, workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { type PlayOptions, type TestedHandler, tested } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const once = { retry: { maxAttempts: 1 } };

const child = workflow({
  name: "child",
  version: 1,
  input: z.object({ nr: z.number() }),
  output: z.string(),
  signals: { go: z.unknown() },
});
type ChildHandler = Parameters<typeof child.handler>[0];
const waiting: ChildHandler = async ({ step }) => {
  await step.waitForSignal("go");
  return "went";
};

/** Makes steps that fail while their names are in `down`. */
function aService() {
  const down = new Set<string>();
  const call = (name: string) => () => {
    if (down.has(name)) throw new NonRetryableError(`${name} is down`);
    return name;
  };
  return { down, call };
}

function family(handle: TestedHandler, of: ChildHandler, options: PlayOptions = {}): Promise<World> {
  const workflows: Workflow[] = [tested.handler(handle), child.handler(of)];
  return World.begin(database, { ...options, workflows });
}

async function childrenOf(world: World) {
  const { runs } = await world.ask((client) => client.list({ workflow: child.name }));
  return runs;
}

const retry = (world: World, { runId }: { readonly runId: string }) => world.ask((client) => client.retry(runId));

describe("the retry of a run is not kept away", () => {
  test.each(["cancel", "abandon"] as const)("by a run that has lost a race (%s)", async (onParentEnd) => {
    const { down, call } = aService();
    down.add("pay").add("slow");
    const world = await family(
      async ({ step }) => {
        const first = await step.race("first", [
          ({ step }) => step.invoke("quick", child, { nr: 1 }),
          ({ step }) => step.invoke("slow", child, { nr: 2 }, { onParentEnd }),
        ]);
        await step.sleep("nap", "1 day");
        return [first, await step.run("pay", call("pay"), once)];
      },
      async ({ input, step }) => {
        if (input.nr === 1) return "quick";
        await step.sleep("nap", "1 hour");
        return await step.run("slow", call("slow"), once);
      },
    );
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    const ends = (await childrenOf(world)).map(({ status }) => status);
    expect(ends.toSorted()).toEqual(["completed", onParentEnd === "cancel" ? "cancelled" : "failed"].toSorted());
    down.clear();
    await retry(world, run);
    expect(await world.run(run)).toMatchObject({ status: "completed", result: ["quick", "pay"] });
  });

  test("by a run of before its restart", async () => {
    const { down, call } = aService();
    down.add("pay");
    let isOther = false;
    const world = await family(async ({ step }) => {
      if (!isOther) await step.invoke("it", child, { nr: 1 });
      return await step.run("pay", call("pay"), once);
    }, waiting);
    const run = await world.start(tested);
    await world.pass("1 hour");
    await world.ask((client) => client.pause(run.runId));
    isOther = true;
    await world.ask((client) => client.restart(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    await world.pass("3 minutes");
    expect(await childrenOf(world)).toMatchObject([{ status: "cancelled" }]);
    down.clear();
    await retry(world, run);
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "pay" });
  });

  test("by a run of an earlier lap, whose failure was caught", async () => {
    const { down, call } = aService();
    down.add("pay").add("part");
    const lapping = workflow({ name: "lapping", version: 1, input: z.number() });
    const world = await World.begin(database, {
      workflows: [
        lapping.handler(async ({ input, step }) => {
          if (input === 1) {
            await step.invoke("it", child, { nr: 1 }).catch(() => {});
            return await step.continueAsNew(2);
          }
          return await step.run("pay", call("pay"), once);
        }),
        child.handler(async ({ step }) => step.run("part", call("part"), once)),
      ],
    });
    const run = await world.start(lapping, 1);
    expect(await world.run(run)).toMatchObject({ status: "failed", epoch: 1 });
    down.clear();
    await retry(world, run);
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "pay" });
  });
});

describe("the retry of a run is kept away", () => {
  /** Waits, and cleans up for ten minutes once its parent has left it. */
  const cleaning: ChildHandler = async ({ step }) => {
    try {
      await step.waitForSignal("go");
    } finally {
      await step.cleanup("tidy", ({ step }) => step.sleep("nap", "10 minutes"));
    }
    return "went";
  };

  test("by a run that it has cancelled, also while that still cleans up, however often it is retried", async () => {
    const { down, call } = aService();
    down.add("pay");
    const world = await family(async ({ step }) => {
      await step.run("first", call("first"), once);
      return await Promise.all([step.invoke("it", child, { nr: 1 }), step.run("pay", call("pay"), once)]);
    }, cleaning);
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    const [left] = await childrenOf(world);
    const childId = left?.runId ?? "";
    const refused = { code: "child_failed", details: { children: childId } };
    for (let times = 1; times <= 2; times += 1) {
      expect(await world.get(childId)).toMatchObject({ status: "cancelling" });
      await expect(retry(world, run)).rejects.toMatchObject(refused);
      await world.pass("15 minutes");
      expect(await world.get(childId)).toMatchObject({ status: "cancelled" });
      await expect(retry(world, run)).rejects.toMatchObject(refused);
      await world.ask((client) => client.restart(childId));
      await world.pass("1 minute");
      if (times === 2) down.clear();
      await retry(world, run);
      await world.pass("1 minute");
    }
    await world.ask((client) => client.signal(childId, "go", null, { contract: child }));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: ["went", "pay"] });
    expect(await childrenOf(world)).toHaveLength(1);
  });

  test("by a run that has lost a race to what the retry forgets", async () => {
    const { down, call } = aService();
    down.add("pay");
    const world = await family(async ({ step }) => {
      const race = step.race("first", [
        ({ step }) => step.invoke("it", child, { nr: 1 }),
        ({ step }) => step.run("pay", call("pay"), once),
      ]);
      const [ended] = await Promise.allSettled([race, step.sleep("late", "30 minutes")]);
      if (ended.status === "rejected") throw ended.reason;
      return ended.value;
    }, cleaning);
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    const [left] = await childrenOf(world);
    expect(left).toMatchObject({ status: "cancelled" });
    await expect(retry(world, run)).rejects.toMatchObject({
      code: "child_failed",
      details: { children: left?.runId },
    });
  });
});

test("a run that was deleted, and made again by the retry of its parent, can be deleted again", async () => {
  const { down, call } = aService();
  down.add("part");
  const world = await family(
    async ({ step }) => step.invoke("it", child, { nr: 1 }),
    async ({ step }) => step.run("part", call("part"), once),
  );
  const run = await world.start(tested);
  expect(await world.run(run)).toMatchObject({ status: "failed" });
  const childId = (await childrenOf(world))[0]?.runId ?? "";
  await world.ask((client) => client.delete(childId, { by: "ada" }));
  down.clear();
  await retry(world, run);
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "part" });
  await world.pass("1 minute");
  expect(await childrenOf(world)).toMatchObject([{ runId: childId, status: "completed" }]);
  expect(await world.ask((client) => client.delete(childId, { by: "bob" }))).toMatchObject({ outcome: "deleted" });
  const { rows } = await database.pool.query("select asked_by from layover.deletion where run_id = $1", [childId]);
  expect(rows).toEqual([{ asked_by: "bob" }]);
});

describe("a run that its failed parent would wait for", () => {
  const keep = { keepMs: 3 * 86_400_000, keepFailedMs: 9 * 86_400_000 };

  test("is kept as long as its parent, so that a retry does not carry it out again", async () => {
    const { down, call } = aService();
    down.add("pay");
    const calls: number[] = [];
    const world = await family(
      async ({ step }) => {
        const options = { onParentEnd: "abandon" } as const;
        const kept = await step.invoke("kept", child, { nr: 1 });
        const open = step.invoke("open", child, { nr: 2 }, options);
        return [kept, ...(await Promise.all([open, step.run("pay", call("pay"), once)]))];
      },
      async ({ input, step }) => {
        if (input.nr === 2) await step.sleep("nap", "1 hour");
        return await step.run("part", () => `part ${calls.push(input.nr)}`, once);
      },
      keep,
    );
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    const days = async (count: number) => {
      for (let half = 0; half < 2 * count; half += 1) await world.pass("12 hours");
      await world.tick();
    };
    await days(5);
    expect(await childrenOf(world)).toMatchObject([{ input: { nr: 2 }, status: "completed" }]);
    down.clear();
    await retry(world, run);
    expect(await world.run(run)).toMatchObject({ status: "completed", result: ["part 1", "part 2", "pay"] });
    expect(calls).toEqual([1, 2]);
  });

  test("is kept after the retry, too, until its parent has asked for it again", async () => {
    const { down, call } = aService();
    down.add("pay");
    const calls: number[] = [];
    const carriers = [
      tested.handler(async ({ step }) => {
        const open = step.invoke("open", child, { nr: 2 }, { onParentEnd: "abandon" });
        return await Promise.all([open, step.run("pay", call("pay"), once)]);
      }),
      child.handler(async ({ input, step }) => {
        await step.sleep("nap", "1 hour");
        return await step.run("part", () => `part ${calls.push(input.nr)}`, once);
      }),
    ];
    const world = await World.begin(database, { ...keep, workflows: carriers });
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    await world.pass("2 hours");
    await world.deploy({ workflows: carriers.slice(1) }); // nobody carries the parent
    down.clear();
    await retry(world, run);
    for (let day = 0; day < 5; day += 1) {
      await world.pass("1 day");
      await world.tick();
    }
    await world.deploy({ workflows: carriers });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: ["part 1", "pay"] });
    expect(calls).toEqual([2]);
    expect(await childrenOf(world)).toHaveLength(1);
  });

  test("is deleted once its parent is gone", async () => {
    const { down, call } = aService();
    down.add("pay");
    const world = await family(
      async ({ step }) => {
        const open = step.invoke("open", child, { nr: 2 }, { onParentEnd: "abandon" });
        await Promise.all([open, step.run("pay", call("pay"), once)]);
      },
      async ({ step }) => {
        await step.sleep("nap", "1 hour");
        return "";
      },
      keep,
    );
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    for (let day = 0; day < 45; day += 1) {
      await world.pass("1 day");
      await world.tick();
    }
    await expect(world.get(run.runId)).rejects.toMatchObject({ code: "unknown_run" });
    expect(await childrenOf(world)).toEqual([]);
  });
});
