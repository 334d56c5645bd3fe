/** How runs end: by what they give, by what they throw, by their own time, by growing too long. */

import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

describe("a run", () => {
  test("without any step ends in one invocation", async () => {
    const { view, world } = await play(database, async () => "at once");
    expect(view).toMatchObject({ status: "completed", result: "at once", records: 0 });
    expect(world.invocations).toBe(1);
  });

  test("fails with what its handler throws", async () => {
    const { view } = await play(database, async ({ step }) => {
      await step.run("a", () => 1);
      throw Object.assign(new RangeError("out of it"), { code: "E_OUT", data: { at: 1 } });
    });
    expect(view).toMatchObject({
      status: "failed",
      error: { name: "RangeError", message: "out of it", code: "E_OUT", data: { at: 1 } },
    });
  });

  test("fails when its handler throws before its first step", async () => {
    const { view } = await play(database, () => {
      throw new Error("not even async");
    });
    expect(view).toMatchObject({ status: "failed", error: { message: "not even async" } });
  });

  test("fails when its result cannot be stored, and names the place in it", async () => {
    const { view } = await play(database, async () => ({ a: [new WeakMap()] }));
    expect(view).toMatchObject({ status: "failed", error: { code: "unstorable_value" } });
    expect(view.error?.message).toContain("a[0]");
  });

  test("gives what the output schema makes of its result, and fails where that refuses it", async () => {
    const contract = workflow({
      name: "typed",
      version: 1,
      input: z.number(),
      output: z.number().max(10).transform(String),
    });
    const world = await World.begin(database, { workflows: [contract.handler(async ({ input }) => input * 2)] });
    const [small, large] = [await world.start(contract, 5), await world.start(contract, 50)];
    expect(await world.run(small, large)).toMatchObject({ status: "completed", result: "10" });
    expect(await world.get(large.runId)).toMatchObject({ status: "failed", error: { code: "invalid_output" } });
  });

  test("knows what it was started with", async () => {
    const contract = workflow({ name: "told", version: 3, input: z.object({ at: z.date() }) });
    const world = await World.begin(database, {
      workflows: [contract.handler(async ({ input, run }) => ({ input, run }))],
    });
    const run = await world.start(contract, { at: new Date(7) }, { id: "mine", tags: { customer: "c1" } });
    expect((await world.run(run)).result).toEqual({
      input: { at: new Date(7) },
      run: {
        runId: run.runId,
        id: "mine",
        workflow: "told",
        version: 3,
        tags: { customer: "c1" },
        createdAt: new Date(Date.UTC(2026, 0, 1, 12)),
      },
    });
  });

  test("begins when its delay is over", async () => {
    const world = await worldOf(database, async ({ step }) => step.now());
    const run = await world.start(tested, undefined, { delay: "3 hours" });
    await world.pass("1 hour");
    expect(world.invocations).toBe(0);
    expect((await world.run(run)).status).toBe("completed");
    expect(world.time).toBe(3 * 3_600_000);
  });
});

describe("a run started from SQL", () => {
  const contract = workflow({ name: "checked", version: 1, input: z.object({ n: z.coerce.number() }) });
  const begin = async () =>
    World.begin(database, { workflows: [contract.handler(async ({ input, step }) => step.run("it", () => input))] });
  const startBySql = async (world: World, input: unknown) => {
    const call = JSON.stringify({ namespace: world.namespace, workflow: "checked", version: 1, input });
    const [row] = await database.query("select layover.start_run($1) as answer", [call]);
    return { runId: String(Reflect.get(Object(row?.["answer"]), "runId")) };
  };

  test("has its input parsed in its first turn", async () => {
    const world = await begin();
    const run = await startBySql(world, { n: "7" });
    await world.tick();
    expect(await world.run(run)).toMatchObject({ status: "completed", result: { n: 7 } });
  });

  test("fails with invalid_input where the schema refuses it, and no step is carried out", async () => {
    const world = await begin();
    const run = await startBySql(world, { n: "seven" });
    await world.tick();
    expect(await world.run(run)).toMatchObject({ status: "failed", records: 0, error: { code: "invalid_input" } });
    expect(world.invocations).toBe(1);
  });
});

describe("a run's timeout", () => {
  const contract = workflow({
    name: "bounded",
    version: 1,
    timeout: "1 hour",
    signals: { go: z.string() },
    callbacks: { ok: z.string() },
  });
  type Handle = Parameters<typeof contract.handler>[0];
  const playBounded = async (handle: (world: World) => Handle, isShuffled = false) => {
    const world: World = await World.begin(database, {
      workflows: [contract.handler(async (context) => handle(world)(context))],
      isShuffled,
    });
    const run = await world.start(contract);
    return { world, run, view: await world.run(run) };
  };

  test.each([
    ["a signal", "signal", ({ step }: Parameters<Handle>[0]) => step.waitForSignal("go")],
    [
      "a callback",
      "callback",
      ({ step }: Parameters<Handle>[0]) => step.createCallback("ok").wait({ timeout: "2 hours" }),
    ],
    ["a sleep", "sleep", ({ step }: Parameters<Handle>[0]) => step.sleep("nap", "2 hours")],
    [
      "another attempt",
      "retry",
      ({ step }: Parameters<Handle>[0]) =>
        step.run("flaky", () => Promise.reject(new Error("no")), {
          retry: { delay: "3 hours", maxDelay: "3 hours", jitter: false },
        }),
    ],
    [
      "another attempt of a branch",
      "branch",
      ({ step }: Parameters<Handle>[0]) =>
        step.all("both", [
          async ({ step }) =>
            step.run("flaky", () => Promise.reject(new Error("no")), {
              retry: { delay: "3 hours", maxDelay: "3 hours", jitter: false },
            }),
          async ({ step }) => step.run("fine", () => 1),
        ]),
    ],
  ])(
    "ends it while it waits for %s: CancelledError is thrown there, and clean-up steps are carried out",
    async (_, kind, wait) => {
      const thrown: unknown[] = [];
      const { view, world, run } = await playBounded(() => async (context) => {
        try {
          await context.step.run("first", () => 1);
          await wait(context);
        } catch (error) {
          thrown.push([error instanceof Error && error.name, Reflect.get(Object(error), "reason")]);
          throw error;
        } finally {
          await context.step.run("clean up", ({ attempt }) => {
            if (attempt === 1) throw new Error("again");
          });
          await context.step.sleep("a moment", "10 minutes");
          await context.step.run("clean up more", () => 1);
        }
      });
      expect(kind).toBeTypeOf("string");
      expect(view).toMatchObject({ status: "failed", error: { name: "LayoverError", code: "run_timeout" } });
      expect(thrown[0]).toEqual(["CancelledError", "timeout"]);
      const { records } = await world.history(run);
      const paths = records.map((record) => (record.kind === "cancellation" ? "cancellation" : record.path));
      expect(paths.slice(-4)).toEqual(["cancellation", "clean up", "a moment", "clean up more"]);
      expect(world.time).toBeGreaterThanOrEqual(4_200_000);
      expect(world.time).toBeLessThan(4_202_000);
    },
  );

  test("lets a step that is at work finish and be recorded, then ends the run", async () => {
    const { view, world, run } = await playBounded((world) => async ({ step }) => {
      await step.sleep("nap", "59 minutes");
      await step.run(
        "charge",
        async () => {
          await world.foreign("90s");
          return "c1";
        },
        { timeout: "10 minutes" },
      );
      await step.run("never", () => 0);
    });
    expect(view).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
    const { records } = await world.history(run);
    expect(records.map(({ kind, path, value }) => [kind, path, value]).slice(1)).toMatchObject([
      ["step", "charge", "c1"],
      ["cancellation", "", expect.anything()],
    ]);
    expect(world.time).toBe(60.5 * 60_000);
  });

  test("lets branches that are at work finish and be recorded, then ends the run", async () => {
    const { view, world, run } = await playBounded((world) => async ({ step }) => {
      await step.sleep("nap", "59 minutes");
      await step.map(
        "each",
        [1, 2, 3],
        async (item, { step }) =>
          step.run(
            "charge",
            async () => {
              await world.foreign("90s");
              return item;
            },
            { timeout: "10 minutes" },
          ),
        { maxConcurrency: 2 },
      );
    });
    expect(view).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
    const { records } = await world.history(run);
    expect(records.map(({ kind }) => kind)).toEqual(["sleep", "step", "step", "cancellation"]);
    expect(world.time).toBeLessThan(70 * 60_000);
  });

  test("does not change the end of a handler that goes on regardless", async () => {
    const { view } = await playBounded(() => async ({ step }) => {
      await step.waitForSignal("go").catch(() => {});
      return "fine";
    });
    expect(view).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
  });

  test("refuses to wait for anybody outside from then on, while steps clean up", async () => {
    const refused: unknown[] = [];
    const { view } = await playBounded(() => async ({ step }) => {
      await step.waitForSignal("go").catch(() => {});
      await step.waitForSignal("go", { timeout: "1 day" }).catch((error: unknown) => refused.push(error));
      await step
        .createCallback("ok")
        .wait()
        .catch((error: unknown) => refused.push(error));
      await step.run("clean up", () => 1);
    });
    expect(view).toMatchObject({ status: "failed", error: { code: "run_timeout" }, records: 2 });
    expect(refused).toMatchObject(Array.from({ length: 2 }, () => ({ name: "CancelledError", reason: "timeout" })));
  });

  test("refuses answers from then on, since nobody would take them", async () => {
    const tokens: string[] = [];
    const world = await World.begin(database, {
      workflows: [
        contract.handler(async ({ step }) => {
          const callback = step.createCallback("ok");
          tokens.push(callback.token);
          await callback.wait().catch(() => {});
          await step.sleep("a moment", "10 minutes");
        }),
      ],
    });
    const run = await world.start(contract);
    await world.pass("61 minutes");
    const late = world.ask((client) => client.resolveCallback(tokens[0] ?? "", "late", { contract }));
    await expect(late).rejects.toMatchObject({ code: "callback_expired" });
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
  });

  test("blocks a run whose code takes no refusal", async () => {
    const { view } = await playBounded(() => async ({ step }) => {
      for (;;) await step.waitForSignal("go").catch(() => {});
    });
    expect(view).toMatchObject({ status: "blocked", blocked: expect.stringContaining("again and again") });
  });

  test("goes through mapSettled, which settles what fails in its items", async () => {
    const { view } = await playBounded(() => async ({ step }) => {
      await step.mapSettled("each", [1, 2], (_, { step }) => step.waitForSignal("go"));
      await step.run("never", () => 1);
    });
    expect(view).toMatchObject({ status: "failed", error: { code: "run_timeout" }, records: 1 });
  });

  test("counts from when the run may begin", async () => {
    const world = await World.begin(database, {
      workflows: [contract.handler(async ({ step }) => step.sleep("nap", "50 minutes"))],
    });
    const run = await world.start(contract, undefined, { delay: "2 hours" });
    expect(await world.run(run)).toMatchObject({ status: "completed" });
  });

  test("ends a run that crashes all the while", async () => {
    const { view, world } = await playBounded((world) => async ({ step }) => {
      await step.run("a", () => 1);
      if (world.time < 3_600_000) await world.die();
      await step.run("never", () => 1);
    });
    expect(["failed", "blocked"]).toContain(view.status);
    expect(world.time).toBeLessThan(2 * 3_600_000);
  });
});

describe("the limits of a history", () => {
  test("end a run at 10,000 records", async () => {
    const world = await worldOf(database, async ({ step }) => {
      for (;;) await step.sleep("nothing", 0);
    });
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed", records: 10_000, error: { code: "history_limit" } });
  });

  test("refuse a map of 200,000 branches when it is asked for, before any of them is carried out", async () => {
    let asked = 0;
    let bodies = 0;
    const { view } = await play(database, async ({ step }) => {
      await step.run("list", () => 1);
      const items = Array.from({ length: 200_000 }, (_, index) => index);
      await step.map("all", items, (_, inside) => {
        asked += 1;
        return inside.step.run("one", () => ++bodies);
      });
    });
    expect(asked).toBe(10_000);
    expect(view).toMatchObject({
      status: "failed",
      records: 1,
      error: {
        code: "history_limit",
        message: "the handler asks for more than 9999 steps and waits at once, and its history has no more room",
        data: { details: { records: 1, limit: 10_000 } },
      },
    });
    expect(bodies).toBe(0);
    const { rows } = await database.pool.query("select count(*)::int as rows from layover.pending where run_id = $1", [
      view.runId,
    ]);
    expect(rows).toEqual([{ rows: 0 }]);
  });

  test("let a run ask for as many at once as its history still holds", async () => {
    const { view } = await play(database, async ({ step }) => {
      await step.run("list", () => 1);
      const items = Array.from({ length: 9_999 }, (_, index) => index);
      await step.race("any", [
        ({ step }) => step.sleep("short", "1s"),
        ({ step }) => step.map("naps", items.slice(1), (_, inside) => inside.step.sleep("nap", "1 hour")),
      ]);
      return "in time";
    });
    expect(view).toMatchObject({ status: "completed", result: "in time", records: 2 });
  });

  test("end a run at 16 MiB", async () => {
    const { view } = await play(
      database,
      async ({ step }) => {
        for (let number = 0; number < 30; number += 1) await step.run("it", () => "x".repeat(1_000_000));
      },
      { invocation: { maxSteps: 100 } },
    );
    expect(view).toMatchObject({ status: "failed", records: 17, error: { code: "history_limit" } });
  });
});
