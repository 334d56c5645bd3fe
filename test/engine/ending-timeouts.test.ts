/** Runs that their timeout ends: what is still carried out then, and what is refused. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";

const database = testDatabase();

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
    "ends it while it waits for %s: CancelledError is thrown there, cleanups are carried out, and all else is refused",
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
          await context.step.run("never", () => 1).catch((error: unknown) => thrown.push(error));
          await context.step.cleanup("tidy", async ({ step }) => {
            await step.run("clean up", ({ attempt }) => {
              if (attempt === 1) throw new Error("again");
            });
            await step.sleep("a moment", "10 minutes");
            await step.run("clean up more", () => 1);
          });
        }
      });
      expect(kind).toBeTypeOf("string");
      expect(view).toMatchObject({ status: "failed", error: { name: "LayoverError", code: "run_timeout" } });
      expect(thrown[0]).toEqual(["CancelledError", "timeout"]);
      expect(thrown[1]).toMatchObject({ name: "CancelledError", reason: "timeout" });
      const { records } = await world.history(run);
      const paths = records.map((record) => (record.kind === "closing" ? "closing" : record.path));
      expect(paths.slice(-4)).toEqual(["closing", "tidy/clean up", "tidy/a moment", "tidy/clean up more"]);
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
      ["closing", "", expect.anything()],
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
    expect(records.map(({ kind }) => kind)).toEqual(["sleep", "step", "step", "closing"]);
    expect(world.time).toBeLessThan(70 * 60_000);
  });

  test("does not change the end of a handler that goes on regardless", async () => {
    const { view } = await playBounded(() => async ({ step }) => {
      await step.waitForSignal("go").catch(() => {});
      return "fine";
    });
    expect(view).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
  });

  test("refuses all waits, sleeps and steps from then on, but for its cleanups", async () => {
    const refused: unknown[] = [];
    const note = (error: unknown) => refused.push(error);
    const { view } = await playBounded(() => async ({ step }) => {
      await step.waitForSignal("go").catch(() => {});
      await step.waitForSignal("go", { timeout: "1 day" }).catch(note);
      await step.createCallback("ok").wait().catch(note);
      await step.sleep("nap", "1 day").catch(note);
      await step.run("charge", () => 1).catch(note);
      await step.cleanup("tidy", async ({ step }) => step.run("clean up", () => 1));
    });
    expect(view).toMatchObject({ status: "failed", error: { code: "run_timeout" }, records: 2 });
    expect(refused).toMatchObject(Array.from({ length: 4 }, () => ({ name: "CancelledError", reason: "timeout" })));
  });

  test("gives all cleanups of the run one hour", async () => {
    const { view, world } = await playBounded(() => async ({ step }) => {
      await step.waitForSignal("go").catch(() => {});
      await step.cleanup("tidy", async ({ step }) => step.sleep("for long", "1 day"));
    });
    expect(view).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
    expect(world.time).toBeGreaterThanOrEqual(2 * 3_600_000);
    expect(world.time).toBeLessThan(2 * 3_600_000 + 120_000);
  });

  test("refuses answers from then on, since nobody would take them", async () => {
    const tokens: string[] = [];
    const world = await World.begin(database, {
      workflows: [
        contract.handler(async ({ step }) => {
          const callback = step.createCallback("ok");
          tokens.push(callback.token);
          await callback.wait().catch(() => {});
          await step.cleanup("tidy", async ({ step }) => step.sleep("a moment", "10 minutes"));
        }),
      ],
    });
    const run = await world.start(contract);
    await world.pass("61 minutes");
    const late = world.ask((client) => client.resolveCallback(tokens[0] ?? "", "late", { contract }));
    await expect(late).rejects.toMatchObject({ code: "callback_expired" });
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
  });

  test("ends a run whose code takes no refusal", async () => {
    const { view } = await playBounded(() => async ({ step }) => {
      for (;;) await step.waitForSignal("go").catch(() => {});
    });
    expect(view).toMatchObject({ status: "failed", error: { code: "run_timeout" }, records: 1 });
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

test("a run whose timeout passes asks what it has invoked to end, cleans up, and undoes when both are over", async () => {
  const child = workflow({ name: "child", version: 1, signals: { go: z.string() } });
  const parent = workflow({ name: "parent", version: 1, timeout: "1 hour" });
  const done: string[] = [];
  const world: World = await World.begin(database, {
    workflows: [
      child.handler(async ({ step }) => {
        try {
          await step.waitForSignal("go");
        } finally {
          await step.cleanup("put away", async ({ step }) => step.sleep("a while", "10 minutes"));
          done.push("the child is over");
        }
      }),
      parent.handler(async ({ step }) => {
        try {
          await step.run("charge", () => "c1", {
            compensate: (_, { outcome }) => void done.push(`undo charge: ${outcome}`),
          });
          await Promise.all([
            step.invoke("it", child, undefined, {
              compensate: (_, { outcome }) => void done.push(`undo it: ${outcome}`),
            }),
            step.run("slow", () => world.foreign("61 minutes"), { timeout: "2 hours" }),
          ]);
        } finally {
          await step.cleanup("tidy", async ({ step }) => step.sleep("a moment", "5 minutes"));
        }
      }),
    ],
  });
  const run = await world.start(parent);
  const view = await world.run(run);
  expect(view).toMatchObject({
    status: "failed",
    error: { code: "run_timeout" },
    undos: { owed: 2, done: 2, failed: 0 },
  });
  const { records } = await world.history(run);
  expect(records.map(({ kind, path }) => `${kind} ${path}`.trim())).toEqual([
    "step charge",
    "step slow",
    "closing",
    "sleep tidy/a moment",
    "child it",
    "ending",
    "step [undo]/it",
    "step [undo]/charge",
  ]);
  expect(done).toEqual(["the child is over", "undo it: unknown", "undo charge: succeeded"]);
});
