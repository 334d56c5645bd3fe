/** The tick: what it finds, how often it looks, and that nothing is lost while calls fail. */

import { type Step, workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

const minutes = (...times: number[]) => times.map((time) => time * 60_000);

describe("a dispatch that is lost", () => {
  test("is made again by the scheduler", async () => {
    const { world, view } = await play(database, async ({ step }, world) => {
      if (world.time === 0)
        world.fate = ({ port }) => (port === "dispatch" && world.time === 0 ? "fails before" : "passes");
      await step.run("a", () => 1);
      return step.run("b", () => 2);
    });
    expect(view).toMatchObject({ status: "completed", result: 2 });
    expect(world.time).toBeLessThanOrEqual(120_000);
    expect(world.errors).toMatchObject([{ doing: "dispatching" }]);
  });

  test("of a branch is made again, however many turns follow each other meanwhile", async () => {
    const times: number[] = [];
    const world = await worldOf(database, async ({ step }) => {
      const aside = step.run("aside", () => times.push(world.time));
      for (let taken = 0; taken < 20; taken += 1) await step.waitForSignal("go");
      return aside;
    });
    world.fate = ({ port, what }) => (port === "dispatch" && what.includes("aside") ? "fails before" : "passes");
    const run = await world.start(tested);
    await world.settle();
    world.fate = () => "passes";
    for (let sent = 0; sent < 20; sent += 1) {
      await world.pass("30s");
      await world.signal(run, tested, "go", sent);
    }
    expect((await world.run(run)).status).toBe("completed");
    expect(times[0]).toBeLessThanOrEqual(120_000);
  });

  test("twice is carried out once", async () => {
    const bodies: string[] = [];
    const world = await worldOf(database, async ({ step }) => {
      await step.run("a", () => bodies.push("a"));
      await step.run("b", () => bodies.push("b"));
    });
    const run = await world.start(tested);
    const [first] = world.platform.deliveries;
    for (let copy = 0; copy < 3; copy += 1) await world.platform.dispatch(first?.turns ?? [], copy * 1_000);
    expect((await world.run(run)).status).toBe("completed");
    await world.pass("10s");
    expect(bodies).toEqual(["a", "b"]);
  });
});

describe("what was dispatched and never claimed", () => {
  test("is dispatched less and less often: after a minute, and then twice as long each time, up to six hours", async () => {
    const world = await worldOf(database, async ({ step }) => step.run("a", () => 1));
    world.fate = ({ port }) => (port === "dispatch" ? "fails before" : "passes");
    const run = await world.start(tested);
    await world.pass("1 minute");
    const ticks = async (until: number) => {
      const times: number[] = [];
      let seen = world.statements("list_due");
      while (world.time < until) {
        await world.pass("1 minute");
        if (world.statements("list_due") > seen) times.push(world.time);
        seen = world.statements("list_due");
      }
      return times;
    };
    expect(await ticks(24 * 3_600_000)).toEqual(minutes(2, 4, 8, 16, 32, 64, 128, 256, 512, 872, 1232));
    world.fate = () => "passes";
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(world.time).toBe(1592 * 60_000);
  });

  test.each<[string, string, (step: Step) => Promise<unknown>]>([
    ["", "run", (step) => step.run("a", () => 1)],
    [", a branch too", "#", (step) => Promise.all([step.run("a", () => 1), step.run("b", () => 1)])],
  ])("is dispatched to a new deployment, from a minute on again%s", async (_, dispatch, handle) => {
    const world = await worldOf(database, async ({ step }) => handle(step));
    world.fate = ({ port, what }) => (port === "dispatch" && what.includes(dispatch) ? "fails before" : "passes");
    const run = await world.start(tested);
    await world.pass("300 minutes");
    await world.tick({ isFirst: true });
    const dispatched: number[] = [];
    world.fate = ({ port, what }) => {
      if (port !== "dispatch" || !what.includes(dispatch)) return "passes";
      dispatched.push(world.time);
      return world.time < 310 * 60_000 ? "fails before" : "passes";
    };
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(dispatched.slice(0, 4)).toEqual(minutes(301, 303, 307, 315));
  });

  test("begins anew at a minute once it is claimed", async () => {
    const world = await worldOf(database, async ({ step }) => {
      await step.run("a", () => 1);
      await step.run("b", () => (world.deaths === 0 ? world.die() : 1));
    });
    world.fate = ({ port }) => (port === "dispatch" ? "fails before" : "passes");
    const run = await world.start(tested);
    await world.pass("100 minutes");
    world.fate = () => "passes";
    await world.pass("28 minutes");
    expect(world.deaths).toBe(1);
    expect(world.time).toBe(128 * 60_000);
    await world.run(run);
    expect(world.time).toBeLessThanOrEqual(132 * 60_000);
  });
});

describe("a tick", () => {
  test("claims nothing and moves a run that is at work to the end of its lease", async () => {
    const { world, view } = await play(database, async ({ step }, world) =>
      step.run("slow", () => world.foreign("10 minutes"), { timeout: "1 hour" }),
    );
    expect(view.status).toBe("completed");
    expect(world.invocations).toBe(1);
    expect(world.statements("list_due")).toBeLessThanOrEqual(11);
  });

  test("that fails is followed by another within a minute", async () => {
    const world = await worldOf(database, async ({ step }) => step.sleep("nap", "1 hour"));
    const run = await world.start(tested);
    await world.pass("59 minutes");
    world.fate = ({ what }) => (what === "list_due" && world.time < 3_900_000 ? "fails before" : "passes");
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(world.time).toBeLessThanOrEqual(3_900_000 + 60_000);
  });

  test("of a process that begins is followed by another, which finds what its predecessor had under way", async () => {
    const world = await worldOf(database, async ({ step }) => step.run("it", () => 1), { platform: "node" });
    await world.tick();
    world.crash();
    await world.pass("5s");
    const runId = world.chance.uuid();
    const armed = [world.now + 40_000];
    const call = { namespace: world.namespace, workflow: "tested", version: 1, runId, armed };
    await database.query("select layover.start_run($1)", [JSON.stringify(call)]);
    await world.pass("150s");
    expect(await world.get(runId)).toMatchObject({ status: "completed" });
  });

  test("finds more due runs than one page holds", async () => {
    const world = await worldOf(database, async ({ step }) => step.run("it", () => 1), { batch: 100 });
    const call = { namespace: world.namespace, workflow: "tested", version: 1 };
    await database.pool.query("select layover.start_run($1) from generate_series(1, 1203)", [JSON.stringify(call)]);
    await world.tick();
    await world.settle();
    const { rows } = await database.pool.query(
      "select count(*)::integer as count from layover.run_state where namespace = $1 and status = 'completed'",
      [world.namespace],
    );
    expect(rows).toEqual([{ count: 1203 }]);
    expect(world.statements("list_due")).toBe(3);
  });

  test("dispatches only what this deployment carries", async () => {
    const other = workflow({ name: "other", version: 1 });
    const world = await worldOf(database, async () => 1);
    const run = await world.ask((client) => client.start(other, undefined, { runId: world.chance.uuid() }));
    world.platform.deliveries = [];
    await world.pass("10 minutes");
    expect(world.invocations).toBe(0);
    expect(await world.get(run.runId)).toMatchObject({ status: "queued" });
  });

  test("prunes what has been over for long enough, failed runs later", async () => {
    const world = await worldOf(
      database,
      async ({ run, step }) => {
        if (run.id === "failed") throw new Error("failed");
        if (run.id === "lasting") await step.sleep("nap", "100 days");
      },
      { keepMs: 10 * 86_400_000, keepFailedMs: 20 * 86_400_000 },
    );
    const runs: { readonly runId: string }[] = [];
    for (const id of ["completed", "failed", "lasting"]) runs.push(await world.start(tested, undefined, { id }));
    const left = async () => {
      await world.tick();
      const found = await Promise.allSettled(runs.map(({ runId }) => world.get(runId)));
      return found.flatMap((each) => (each.status === "fulfilled" ? [each.value.id] : []));
    };
    await world.pass("9 days");
    expect(await left()).toEqual(["completed", "failed", "lasting"]);
    await world.pass("2 days");
    expect(await left()).toEqual(["failed", "lasting"]);
    await world.pass("10 days");
    expect(await left()).toEqual(["lasting"]);
  });
});

describe("a call whose fate nobody knows", () => {
  test.each(["fails before", "fails after"] as const)(
    "is made again and does nothing twice: each call %s once",
    async (fate) => {
      const bodies: string[] = [];
      const failed = new Set<string>();
      const { view, world, run } = await play(database, async ({ step }, world) => {
        world.fate = ({ what, port, number }) => {
          const isNew = port === "query" && !failed.has(`${what}${Math.floor(number / 12)}`);
          failed.add(`${what}${Math.floor(number / 12)}`);
          return isNew ? fate : "passes";
        };
        const body = (name: string) => step.run(name, () => bodies.push(name));
        await body("a");
        await Promise.all([body("b"), body("c")]);
        await step.map("each", [1, 2, 3], async (item, { step }) => step.run("it", () => bodies.push(`it ${item}`)), {
          maxConcurrency: 1,
        });
        await step.sleep("nap", "1 hour");
        await body("d");
      });
      expect(view.status).toBe("completed");
      expect(failed.size).toBeGreaterThan(6);
      expect(bodies.toSorted()).toEqual(["a", "b", "c", "d", "it 1", "it 2", "it 3"]);
      const { records } = await world.history(run);
      expect(new Set(records.map(({ path, occurrence }) => `${path} ${occurrence}`)).size).toBe(8);
      expect(world.errors).toEqual([]);
    },
  );

  test("that is carried out too late takes no effect, and goes out again", async () => {
    let bodies = 0;
    const { view, world } = await play(database, async ({ step }, world) => {
      let isLate = false;
      world.fate = async ({ what }) => {
        if (what === "finish_turns" && !isLate) {
          isLate = true;
          await database.query("update layover_test.clock set now_at = now_at + interval '30 seconds'");
        }
        return "passes" as const;
      };
      return step.run("a", () => ++bodies);
    });
    expect(view).toMatchObject({ status: "completed", result: 1 });
    expect(world.statements("finish_turns")).toBe(2);
  });
});

test("several processes share the work of many runs, in any order", async () => {
  const world: World = await World.begin(database, {
    workflows: [
      tested.handler(async ({ step }) => {
        const first = await step.run("a", () => 1);
        const sum = await step.map("each", [1, 2, 3], async (item, { step }) => {
          await step.sleep("nap", item * 1_000);
          return step.run("it", () => item);
        });
        const winner = await step.race("race", [
          async ({ step }) => step.run("x", () => "x"),
          async ({ step }) => step.run("y", () => "y"),
        ]);
        return [first, sum, winner === "x" || winner === "y"];
      }),
    ],
    processes: 3,
    isShuffled: true,
    batch: 4,
    seed: 7,
  });
  const runs = [];
  for (let number = 0; number < 8; number += 1) runs.push(await world.start(tested));
  await world.run(...runs);
  for (const { runId } of runs) {
    expect(await world.get(runId)).toMatchObject({ status: "completed", result: [1, [1, 2, 3], true] });
  }
});

test("the same seed plays the same story", async () => {
  const stories = [];
  for (let round = 0; round < 2; round += 1) {
    const { world, view } = await play(
      database,
      async ({ step }) =>
        step.map("each", [1, 2, 3], async (_, { step }) => {
          await step.run("flaky", ({ attempt }) => (attempt < 3 ? Promise.reject(new Error("again")) : 1));
          return step.random();
        }),
      { isShuffled: true, seed: 42, number: 9_999, processes: 2 },
    );
    stories.push([view, world.calls]);
    await world.end();
  }
  expect(stories[1]).toEqual(stories[0]);
});
