/** Runs that this deployment cannot go on with: other code, other versions, other databases, code that kills. */

import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, type TestedHandler, type TestedStep, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";
import type { Fate, PortCall } from "./world-options.ts";

const database = testDatabase();

describe("code that cannot have made the history", () => {
  const original: TestedHandler = async ({ step }) => {
    await step.run("charge", () => "c1");
    await step.sleep("nap", "1 hour");
    return step.run("ship", () => "s1");
  };
  const deployed = async (handle: TestedHandler) => {
    const world = await worldOf(database, original);
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.deploy({ workflows: [tested.handler(handle)] });
    return { world, run, view: await world.run(run) };
  };

  test.each<[string, TestedHandler, string]>([
    [
      "a renamed step",
      async ({ step }) => step.run("pay", () => 1),
      "the history holds step charge at position 1, where the code asks for step pay",
    ],
    [
      "a step that became a sleep",
      async ({ step }) => step.sleep("charge", "1 hour"),
      "the history holds step charge at position 1, where the code asks for sleep charge",
    ],
    [
      "a step that is gone",
      async ({ step }) => step.sleep("nap", "1 hour"),
      "the history holds step charge at position 1, where the code asks for sleep nap",
    ],
    ["a handler that ends", async () => 1, "the history holds step charge at position 1, where the code has ended"],
    [
      "a handler that asks for nothing",
      async () => new Promise(() => {}),
      "the history holds step charge at position 1, where the code asks for nothing",
    ],
    [
      "a renamed sleep that the run waits for",
      async ({ step }) => {
        await step.run("charge", () => "c1");
        await step.sleep("rest", "1 hour");
      },
      "the run waits for sleep nap, which the code does not ask for",
    ],
  ])("blocks the run and names both: %s", async (_, handle, blocked) => {
    const { view, world, run } = await deployed(handle);
    expect(view).toMatchObject({ status: "blocked", blocked, dueAt: undefined });

    const calls = world.calls.length;
    await world.pass("1 day");
    expect(world.statements() - calls).toBeLessThan(10); // it is left alone

    await world.deploy({ workflows: [tested.handler(original)] });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "s1", blocked: undefined });
    expect((await world.history(run)).records.map(({ path }) => path)).toEqual(["charge", "nap", "ship"]);
  });

  test("blocks a run whose branch it does not ask for", async () => {
    const branches =
      (name: string): TestedHandler =>
      async ({ step }) =>
        Promise.all([
          step.run("left", ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("later")) : 1), {
            retry: { delay: "10 minutes", jitter: false },
          }),
          step.run(name, ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("later")) : 1), {
            retry: { delay: "10 minutes", jitter: false },
          }),
        ]);
    const world = await worldOf(database, branches("right"));
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.deploy({ workflows: [tested.handler(branches("wrong"))] });
    const view = await world.run(run);
    expect(view).toMatchObject({ status: "blocked" });
    expect(view.blocked).toContain("right, which the code does not ask for");
    await world.deploy({ workflows: [tested.handler(branches("right"))] });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: [1, 1] });
  });

  test("does not block a run that dies while new code tries it: it is tried again", async () => {
    const { world, run } = await deployed(async () => "blocks");
    let deaths = 0;
    await world.deploy({
      workflows: [
        tested.handler(async (context) => {
          if (deaths++ < 2) return world.die();
          return original(context);
        }),
      ],
    });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "s1" });
    expect(deaths).toBeGreaterThan(2);
  });

  test("does not matter where it makes the same history", async () => {
    const { view } = await deployed(async ({ step }) => {
      const charge = await step.run("charge", () => "another body");
      await step.sleep("nap", "5 minutes");
      await step.run("ship", () => 1);
      return `${charge} and more`;
    });
    expect(view).toMatchObject({ status: "completed", result: "c1 and more" });
  });
});

describe("a stored value that cannot be read", () => {
  test("blocks its run with the reason, and the repaired row lets it go on", async () => {
    const world = await worldOf(
      database,
      async ({ step }) => {
        const a = await step.run("a", () => 1);
        await step.sleep("nap", "1 hour");
        return a;
      },
      { warmRuns: 0 },
    );
    const run = await world.start(tested);
    await world.pass("1 minute");
    const set = "update layover.record set value = $1 where run_id = $2 and path = 'a'";
    await database.pool.query(set, ['1{"cut', run.runId]);
    const view = await world.run(run);
    expect(view.status).toBe("blocked");
    expect(view.blocked).toBe("the record of a cannot be read: its text is damaged");
    await database.pool.query(set, ["12", run.runId]);
    await world.tick({ isFirst: true });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: 2 });
  });
});

describe("versions", () => {
  const version = (number: number) => {
    const contract = workflow({ name: "versioned", version: number });
    return { contract, workflow: contract.handler(async ({ step }) => step.run("it", () => number)) };
  };
  const [one, two] = [version(1), version(2)];

  test("that are not carried here are left alone, and picked up by a deployment that has them", async () => {
    const world = await World.begin(database, { workflows: [one.workflow] });
    const [first, second] = [await world.start(one.contract), await world.start(two.contract)];
    await world.run(first);
    await world.pass("1 day");
    expect(await world.get(first.runId)).toMatchObject({ status: "completed", result: 1 });
    expect(await world.get(second.runId)).toMatchObject({ status: "queued", turn: 1 });
    const before = world.statements();
    await world.pass("30 days");
    expect(world.statements()).toBe(before); // nobody is kept awake by it

    await world.deploy({ workflows: [one.workflow, two.workflow] });
    expect(await world.run(second)).toMatchObject({ status: "completed", result: 2 });
  });

  test("run side by side, each with its own code", async () => {
    const world = await World.begin(database, { workflows: [one.workflow, two.workflow], batch: 10 });
    const [first, second] = [await world.start(one.contract), await world.start(two.contract)];
    await world.run(first, second);
    expect(await world.get(first.runId)).toMatchObject({ result: 1 });
    expect(await world.get(second.runId)).toMatchObject({ result: 2 });
  });

  test("of a run that is asleep are picked up too", async () => {
    const contract = workflow({ name: "sleeper", version: 1 });
    const sleeper = contract.handler(async ({ step }) => step.sleep("nap", "1 hour"));
    const world = await World.begin(database, { workflows: [sleeper] });
    const run = await world.start(contract);
    await world.pass("1 minute");
    await world.deploy({ workflows: [one.workflow] });
    await world.pass("2 hours");
    expect(await world.get(run.runId)).toMatchObject({ status: "queued" });
    await world.deploy({ workflows: [sleeper] });
    expect(await world.run(run)).toMatchObject({ status: "completed" });
  });
});

describe("a step that kills its process", () => {
  test.each([
    ["alone", async ({ step }: Parameters<TestedHandler>[0], body: () => unknown) => step.run("deadly", body)],
    [
      "beside another",
      async ({ step }: Parameters<TestedHandler>[0], body: () => unknown) =>
        (await Promise.all([step.run("deadly", body), step.run("harmless", () => 1)]))[0],
    ],
  ])(
    "fails after five that began it alone with the code step_crashed, and the handler can catch it: %s",
    async (_, runIt) => {
      let bodies = 0;
      const { view, world, run } = await play(database, async (context, world) => {
        try {
          await runIt(context, () => {
            bodies += 1;
            return world.die();
          });
          return "not caught";
        } catch (error) {
          const cause: unknown = Reflect.get(Object(error), "cause");
          return [Reflect.get(Object(cause), "code"), await context.step.run("after", () => "after")];
        }
      });
      expect(view).toMatchObject({ status: "completed", result: ["step_crashed", "after"] });
      expect(bodies).toBe(9); // four times among others, and five times alone
      expect(world.deaths).toBe(9);
      const { records } = await world.history(run);
      expect(records.find(({ path }) => path === "deadly")).toMatchObject({ isFailure: true });
      expect(world.time).toBeLessThan(9 * 4 * 60_000);
    },
  );

  test("a few times only goes on as if nothing had been, with all its attempts left", async () => {
    let bodies = 0;
    const { view, world, run } = await play(database, async ({ step }, world) =>
      step.run("deadly", ({ attempt }) => {
        bodies += 1;
        return bodies <= 4 ? world.die() : attempt;
      }),
    );
    expect(view).toMatchObject({ status: "completed", result: 1 });
    expect((await world.history(run)).records).toMatchObject([{ attempts: 1 }]);
  });

  test("in every turn but one does not add up: only claims in a row count", async () => {
    const died = new Set<number>();
    const { view } = await play(database, async ({ step }, world) => {
      for (let number = 0; number < 12; number += 1) {
        await step.run("it", () => {
          if (died.has(number)) return undefined;
          died.add(number);
          return world.die();
        });
      }
      return died.size;
    });
    expect(view).toMatchObject({ status: "completed", result: 12 });
  });

  test("is found in a batch of a hundred, in smaller and smaller groups, and fails nobody else", async () => {
    const contract = workflow({ name: "mixed", version: 1 });
    const bodies = new Map<string, number>();
    const world: World = await World.begin(database, {
      workflows: [
        contract.handler(async ({ step, run }) => {
          await step.run("before", () => 1);
          await step.run("it", () => {
            const id = run.id ?? "";
            bodies.set(id, (bodies.get(id) ?? 0) + 1);
            return id === "deadly" ? world.die() : world.foreign("1s");
          });
          return step.run("after", () => 1);
        }),
      ],
      batch: 100,
      invocation: { maxSteps: 100 },
    });
    const runs = [];
    for (let number = 1; number <= 100; number += 1)
      runs.push(await world.start(contract, undefined, { id: number === 42 ? "deadly" : `${number}` }));
    await world.run(...runs);
    for (const run of runs) {
      const { id, status } = await world.get(run.runId);
      const isDeadly = id === "deadly";
      expect([id, status]).toEqual([id, isDeadly ? "failed" : "completed"]);
      const { records } = await world.history(run);
      expect(records.map(({ path }) => path)).toEqual(isDeadly ? ["before", "it"] : ["before", "it", "after"]);
      expect(bodies.get(String(id))).toBeLessThanOrEqual(isDeadly ? 9 : 5);
    }
    expect(world.deaths).toBe(9);
    const again = [...bodies.values()].filter((times) => times > 3);
    expect(again.length).toBeLessThanOrEqual(16);
    // Twice all together, then 7 groups of 16, 4 of 4, and those of the last group and the deadly one alone.
    expect(world.statements("claim_turns")).toBeLessThanOrEqual(2 + 7 + 4 + 4 + 6);
  });
});

describe("a turn that was claimed alone, of which", () => {
  /** Four processes die, so that the turn goes alone; `fate` decides what becomes of its claims and beginnings then. */
  const afterADeath = async (
    runIt: (step: TestedStep, body: () => unknown) => Promise<unknown>,
    fate: (call: PortCall, times: number) => Fate | Promise<Fate>,
    body: (times: number, world: World) => unknown = () => "done",
  ) => {
    let bodies = 0;
    const world: World = await worldOf(database, ({ step }) =>
      runIt(step, () => {
        bodies += 1;
        return bodies <= 4 ? world.die() : body(bodies, world);
      }),
    );
    const counts = new Map<string, number>();
    world.fate = (call) => {
      if (bodies < 4 || call.port !== "query") return "passes";
      const times = (counts.get(call.what) ?? 0) + 1;
      counts.set(call.what, times);
      return fate(call, times);
    };
    const view = await world.run(await world.start(tested));
    return { view, world, bodies };
  };
  const inline = (step: TestedStep, body: () => unknown) => step.run("it", body);
  const beside = async (step: TestedStep, body: () => unknown) =>
    (await Promise.all([step.run("it", body), step.sleep("nap", "1s")]))[0];

  describe.each([
    ["a step", inline],
    ["a branch", beside],
  ])("%s", (_, runIt) => {
    test("the answer never came was never begun, and is not given up for it", async () => {
      const { view, world, bodies } = await afterADeath(runIt, ({ what }, times) =>
        what === "claim_turns" && times <= 50 ? "dies after" : "passes",
      );
      expect(view).toMatchObject({ status: "completed", result: "done" });
      expect(bodies).toBe(5);
      expect(world.deaths).toBe(54);
    });

    test("the answer ends each process is tried again later, and goes on when that has passed", async () => {
      const { view, bodies } = await afterADeath(runIt, ({ what }, times) =>
        what === "claim_turns" && times <= 60 ? "dies after" : "passes",
      );
      expect(view).toMatchObject({ status: "completed", result: "done" });
      expect(bodies).toBe(5);
    });

    test("the answer ends each process is blocked after four tries, with the reason", async () => {
      const { view, bodies } = await afterADeath(runIt, ({ what }) =>
        what === "claim_turns" ? "dies after" : "passes",
      );
      expect(view).toMatchObject({
        status: "blocked",
        blocked: expect.stringMatching(/^51 invocations in a row claimed .+ and never finished it$/),
      });
      expect(bodies).toBe(4);
    });

    test("nobody can tell whether it was counted is begun all the same", async () => {
      for (const fate of ["fails before", "fails after"] as const) {
        const { view, bodies } = await afterADeath(runIt, ({ what }) => (what === "renew_leases" ? fate : "passes"));
        expect(view).toMatchObject({ status: "completed", result: "done" });
        expect(bodies).toBe(5);
      }
    });

    test("the lease is another's when it is to begin is left to that one", async () => {
      const { view, bodies } = await afterADeath(runIt, async ({ what }, times): Promise<Fate> => {
        if (what !== "renew_leases" || times > 1) return "passes";
        for (const table of ["run_state", "pending"])
          await database.pool.query(`update layover.${table} set token = layover.new_id() where token is not null`);
        return "passes";
      });
      expect(view).toMatchObject({ status: "completed", result: "done" });
      expect(bodies).toBe(5);
    });

    test("each that began is counted once, however often that is said", async () => {
      const { view, world, bodies } = await afterADeath(
        runIt,
        async ({ what }, times) => (what === "renew_leases" && times % 2 === 1 ? "fails after" : "passes"),
        (times, world) => (times <= 8 ? world.die() : "done"),
      );
      expect(view).toMatchObject({ status: "completed", result: "done" });
      expect(bodies).toBe(9);
      expect(world.statements("renew_leases")).toBe(10);
    });
  });
});

test("a handler that always kills its process is blocked in the end, with the reason", async () => {
  const { view, world } = await play(database, async (_, world) => world.die());
  expect(view.status).toBe("blocked");
  expect(view.blocked).toBe("6 invocations in a row began turn 5 and never finished it");
  expect(world.deaths).toBe(10 + 4 * 2); // and two for each of the four tries
});

test("a handler that kills its process where a branch is replayed is blocked in the end", async () => {
  let isDeadly = false;
  const { view } = await play(
    database,
    async ({ step }, world) => {
      if (isDeadly) await world.die();
      return Promise.all([
        step.run("a", () => {
          isDeadly = true;
          return world.die();
        }),
        step.run("b", () => 2),
      ]);
    },
    { warmRuns: 0 },
  );
  expect(view.status).toBe("blocked");
  expect(view.blocked).toMatch(/^6 invocations in a row began .* and never finished it$/);
});

describe("a database of another environment", () => {
  const handle: TestedHandler = async ({ step }) => {
    await step.sleep("nap", "1 hour");
    return step.run("it", () => 1);
  };

  test("that was copied carries out nothing until somebody adopts it", async () => {
    const world = await worldOf(database, handle);
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.deploy({ endpoint: "copy.example.com/main" });
    await world.pass("1 day");
    expect(await world.get(run.runId)).toMatchObject({ status: "queued", records: 0 });
    expect(world.errors[0]).toMatchObject({ error: { code: "wrong_environment" } });

    const call = JSON.stringify({
      namespace: world.namespace,
      environment: "default",
      endpoint: "copy.example.com/main",
    });
    await database.query("select layover.adopt_environment($1)", [call]);
    await world.deploy({ endpoint: "copy.example.com/main" });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: 1 });
  });

  test("of another name carries out nothing", async () => {
    const world = await worldOf(database, handle);
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.deploy({ environment: "staging" });
    await world.pass("2 hours");
    expect(await world.get(run.runId)).toMatchObject({ status: "queued", records: 0 });
    await world.deploy({ environment: "default" });
    expect(await world.run(run)).toMatchObject({ status: "completed" });
  });
});
