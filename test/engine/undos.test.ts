/** Undos, in the course of a run: what is owed, in which order, and how the run ends. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { acceptRecords, refuseAttempts, refuseRecords } from "../postgres/refusals.ts";
import { cancel, cancelled } from "./cancelling.ts";
import { play, type TestedHandler, type TestedStep, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const minute = 60_000;

/** A step that can be undone, and what was done and undone. */
function ledger() {
  const done: string[] = [];
  const act = (step: TestedStep, name: string, body: () => unknown = () => name) =>
    step.run(
      name,
      async () => {
        done.push(name);
        return await body();
      },
      {
        retry: { maxAttempts: 1 },
        compensate: (result, { outcome }) => void done.push(`undo ${name}: ${outcome} ${String(result)}`),
      },
    );
  return { done, act };
}

async function ended(handle: TestedHandler) {
  const world = await worldOf(database, handle);
  const run = await world.start(tested);
  await world.pass("10 minutes");
  return { world, run, view: await world.get(run.runId) };
}

describe("a run that fails", () => {
  test("undoes what succeeded, the last step first, and keeps its error", async () => {
    const { done, act } = ledger();
    const { world, run, view } = await ended(async ({ step }) => {
      await act(step, "a");
      await act(step, "b");
      await step.sleep("nap", "1 minute");
      throw new Error("no");
    });
    expect(view).toMatchObject({ status: "failed", error: { message: "no" } });
    expect(done).toEqual(["a", "b", "undo b: succeeded b", "undo a: succeeded a"]);
    const { records } = await world.history(run);
    expect(records.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      "step a",
      "step b",
      "sleep nap",
      "ending ",
      "step [undo]/b",
      "step [undo]/a",
    ]);
  });

  test("undoes a step that failed, since it may have had its effect", async () => {
    const { done, act } = ledger();
    const { view } = await ended(async ({ step }) => {
      await act(step, "a");
      await act(step, "b", () => Promise.reject(new Error("lost")));
    });
    expect(view).toMatchObject({ status: "failed", error: { name: "StepError" } });
    expect(done).toEqual(["a", "b", "undo b: unknown undefined", "undo a: succeeded a"]);
  });

  test("tells a body at work to end, by the next renewal of its lease, and undoes what it may have done", async () => {
    const { done, act } = ledger();
    const world = await worldOf(database, async ({ step }) =>
      Promise.all([
        act(step, "quick", () => Promise.reject(new Error("no"))),
        step.run(
          "slow",
          ({ abortSignal }) =>
            new Promise((_, reject) => {
              abortSignal.addEventListener("abort", () => reject(abortSignal.reason));
            }),
          { timeout: "1 hour", compensate: (_, { outcome }) => void done.push(`undo slow: ${outcome}`) },
        ),
      ]),
    );
    const run = await world.start(tested);
    await world.pass("2 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "failed", error: { name: "StepError" } });
    expect(done.toSorted()).toEqual(["quick", "undo quick: unknown undefined", "undo slow: unknown"]);
  });

  test("waits for branches that are at work, and undoes what they did", async () => {
    const { done, act } = ledger();
    const world = await worldOf(database, async ({ step }) =>
      Promise.all([
        act(step, "quick", () => Promise.reject(new Error("no"))),
        act(step, "slow", () => world.foreign("30 seconds").then(() => "s")),
        step.run("queued", () => Promise.reject(new Error("later")), {
          retry: { delay: "1 hour" },
          compensate: (_, { outcome }) => void done.push(`undo queued: ${outcome}`),
        }),
      ]),
    );
    const run = await world.start(tested);
    await world.pass("10 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "failed" });
    expect(done.toSorted()).toEqual([
      "quick",
      "slow",
      "undo queued: unknown",
      "undo quick: unknown undefined",
      "undo slow: succeeded s",
    ]);
  });

  test("goes on with the other undos when one fails for good, and says which failed", async () => {
    const done: string[] = [];
    const { view } = await ended(async ({ step }) => {
      await step.run("a", () => 1, { compensate: () => void done.push("undo a") });
      await step.run("b", () => 1, {
        compensate: { run: () => Promise.reject(new Error("gone")), retry: { maxAttempts: 2, delay: "1 second" } },
      });
      throw new Error("no");
    });
    expect(done).toEqual(["undo a"]);
    expect(view).toMatchObject({
      status: "failed",
      error: {
        message: "no",
        data: { compensation: { failed: [{ step: "b", error: { name: "Error", message: "gone" } }] } },
      },
    });
  });
});

describe("a run that is cancelled", () => {
  test("cleans up, and then undoes", async () => {
    const { done, act } = ledger();
    const world = await worldOf(database, async ({ step }) => {
      await act(step, "a");
      try {
        await step.sleep("nap", "1 day");
      } finally {
        await step.cleanup("tidy", (room) => room.step.run("up", () => void done.push("tidy")));
      }
    });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.ask((client) => client.cancel(run.runId));
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["a", "tidy", "undo a: succeeded a"]);
  });
});

describe("a step that has not succeeded", () => {
  test("is undone where it was to be tried again when its run was cancelled", async () => {
    const done: string[] = [];
    const { world, run } = await cancelled(database, async ({ step }) =>
      step.run("charge", () => Promise.reject(new Error("later")), {
        retry: { delay: "1 hour" },
        compensate: (_, { outcome }) => void done.push(`undo charge: ${outcome}`),
      }),
    );
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["undo charge: unknown"]);
  });

  test("is undone where the process that had begun it died, and its run was cancelled", async () => {
    const { done, act } = ledger();
    const { world, run } = await cancelled(
      database,
      ({ step }, world) => act(step, "charge", () => (world.time < minute ? world.die() : Promise.resolve())),
      { after: 0 },
    );
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["charge", "undo charge: unknown undefined"]);
  });

  test("is undone where its body used `step`, and the run was cancelled before corrected code had tried it again", async () => {
    const { done, act } = ledger();
    const world = await worldOf(database, async ({ step }) =>
      act(step, "charge", () => Promise.resolve().then(() => step.run("inner", () => 1))),
    );
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "blocked" });
    await cancel(world, run);
    await world.deploy({ workflows: [tested.handler(async ({ step }) => act(step, "charge"))] });
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["charge", "undo charge: unknown undefined"]);
    const { attempts } = await world.history(run);
    expect(attempts).toMatchObject([{ path: "charge", number: 1, error: { code: "nested_step" } }]);
  });

  test.each([
    ["its error", "new.error like '%nested%'"],
    ["that it was carried out", "true"],
  ])("blocks its run where its body used `step` and the database cannot store %s", async (_, condition) => {
    const { done, act } = ledger();
    const world = await worldOf(database, async ({ step }) =>
      act(step, "charge", () => Promise.resolve().then(() => step.run("inner", () => 1))),
    );
    const run = await world.start(tested);
    await refuseAttempts(database.pool, "22P05", condition);
    try {
      expect(await world.run(run)).toMatchObject({ status: "blocked" });
    } finally {
      await acceptRecords(database.pool);
    }
    await world.deploy({ workflows: [tested.handler(async ({ step }) => act(step, "charge"))] });
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(done).toEqual(["charge", "charge"]);
  });

  test("is undone where the database could not store that it was done, and the run was cancelled then", async () => {
    const { done, act } = ledger();
    const world = await worldOf(database, async ({ step }) => act(step, "charge"));
    const run = await world.start(tested);
    await refuseRecords(database.pool, "54000", "new.path = 'charge'");
    try {
      expect(await world.run(run)).toMatchObject({ status: "blocked" });
    } finally {
      await acceptRecords(database.pool);
    }
    await cancel(world, run);
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["charge", "undo charge: unknown undefined"]);
  });

  test("is undone where it is a branch whose body used `step`, and the run was cancelled before that was corrected", async () => {
    const { done, act } = ledger();
    const charging =
      (body?: (step: TestedStep) => unknown): TestedHandler =>
      async ({ step }) =>
        Promise.all([act(step, "charge", () => body?.(step)), step.sleep("nap", "1 day")]);
    const world = await worldOf(
      database,
      charging((step) => Promise.resolve().then(() => step.run("inner", () => 1))),
    );
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "blocked" });
    await cancel(world, run);
    await world.deploy({ workflows: [tested.handler(charging())] });
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["charge", "undo charge: unknown undefined"]);
  });

  test("is undone where a signal had led to it, its process died, and its run was cancelled", async () => {
    const { done, act } = ledger();
    const world: World = await worldOf(database, async ({ step }) => {
      await step.waitForSignal("go");
      await act(step, "charge", () => (done.length === 1 ? world.die() : Promise.resolve()));
    });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.signal(run, tested, "go", null);
    await world.pass("1s");
    await cancel(world, run);
    expect(await world.run(run)).toMatchObject({ status: "cancelled" });
    expect(done).toEqual(["charge", "undo charge: unknown undefined"]);
  });

  test("is undone where the process that had begun its branch died, and its run failed meanwhile", async () => {
    const { done, act } = ledger();
    const { view } = await play(
      database,
      async ({ step }, world) =>
        Promise.all([
          act(step, "charge", () => world.die()),
          step.sleep("nap", "30 seconds").then(() => Promise.reject(new Error("no"))),
        ]),
      { processes: 2 },
    );
    expect(view).toMatchObject({ status: "failed", error: { message: "no" } });
    expect(done.filter((what) => what !== "charge")).toEqual(["undo charge: unknown undefined"]);
  });

  test("is not undone where it was never begun", async () => {
    const { done, act } = ledger();
    const { view } = await ended(async ({ step }) =>
      Promise.all([
        step.map(
          "each",
          [1, 2, 3],
          async (item, { step }) => {
            await step.sleep("rest", "1 day");
            await act(step, `charge ${item}`);
          },
          { maxConcurrency: 1 },
        ),
        step.sleep("nap", "1 minute").then(() => Promise.reject(new Error("no"))),
      ]),
    );
    expect(view).toMatchObject({ status: "failed" });
    expect(done).toEqual([]);
  });
});

describe("an undo", () => {
  test("waits while its run is paused, and goes on when it is resumed", async () => {
    const done: string[] = [];
    const world = await worldOf(database, async ({ step }) => {
      const compensate = ({ attempt }: { attempt: number }) => {
        done.push(`try ${attempt}`);
        if (attempt < 2) throw new Error("down");
      };
      await step.run("charge", () => 1, {
        compensate: { run: (_, context) => compensate(context), retry: { delay: "5 minutes", jitter: false } },
      });
      throw new Error("no");
    });
    const run = await world.start(tested);
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({ status: "compensating" });
    await world.ask((client) => client.pause(run.runId));
    await world.pass("1 hour");
    expect([done, (await world.get(run.runId)).status]).toEqual([["try 1"], "paused"]);
    await world.ask((client) => client.resume(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    expect(done).toEqual(["try 1", "try 2"]);
  });

  test("is not begun after the run was terminated", async () => {
    const done: string[] = [];
    const world = await worldOf(database, async ({ step }) => {
      await step.run("a", () => 1, { compensate: () => void done.push("undo a") });
      await step.run("b", () => 1, {
        compensate: { run: () => Promise.reject(new Error("down")), retry: { delay: "5 minutes", jitter: false } },
      });
      throw new Error("no");
    });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.ask((client) => client.terminate(run.runId));
    await world.pass("1 hour");
    expect([done, (await world.get(run.runId)).status]).toEqual([[], "cancelled"]);
  });

  test("goes on where the process dies after it, and none is carried out twice that was recorded", async () => {
    const done: string[] = [];
    const { world, view } = await play(database, async ({ step }, world) => {
      await step.run("a", () => 1, { compensate: () => void done.push("undo a") });
      await step.run("b", () => 1, {
        compensate: async (_, { attempt }) => {
          done.push("undo b");
          if (world.time < minute && attempt === 1) await world.die();
        },
      });
      throw new Error("no");
    });
    expect(view).toMatchObject({ status: "failed", error: { message: "no" } });
    expect(done).toEqual(["undo b", "undo b", "undo a"]);
    expect(world.time).toBeLessThan(5 * minute);
  });

  test("has room in a history that is full", async () => {
    const done: string[] = [];
    const { view } = await play(database, async ({ step }) => {
      await step.run("first", () => 1, { compensate: () => void done.push("undo first") });
      for (;;) await step.sleep("nothing", 0);
    });
    expect(view).toMatchObject({ status: "failed", error: { code: "history_limit" } });
    expect(done).toEqual(["undo first"]);
  });

  test("that new code does not have fails for good, and the others are carried out", async () => {
    const done: string[] = [];
    const handle = (compensates: boolean) =>
      tested.handler(async ({ step }) => {
        await step.run("a", () => 1, { compensate: () => void done.push("undo a") });
        await step.run("b", () => 1, {
          ...(compensates && {
            compensate: { run: () => Promise.reject(new Error("down")), retry: { delay: "5 minutes", jitter: false } },
          }),
        });
        throw new Error("no");
      });
    const world = await worldOf(database, async () => {});
    await world.deploy({ workflows: [handle(true)] });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.deploy({ workflows: [handle(false)] });
    const view = await world.run(run);
    expect(done).toEqual(["undo a"]);
    expect(view).toMatchObject({
      status: "failed",
      error: {
        message: "no",
        data: { compensation: { failed: [{ step: "b", error: { code: "compensation_missing" } }] } },
      },
    });
  });
});

test("a run that its timeout ends is undone", async () => {
  const done: string[] = [];
  const timed = workflow({ name: "timed", version: 1, timeout: "1 hour" });
  const handler = timed.handler(async ({ step }) => {
    await step.run("a", () => void done.push("a"), { compensate: () => void done.push("undo a") });
    await step.sleep("nap", "1 day");
  });
  const world = await World.begin(database, { workflows: [handler] });
  const run = await world.start(timed);
  expect(await world.run(run)).toMatchObject({ status: "failed", error: { code: "run_timeout" } });
  expect(done).toEqual(["a", "undo a"]);
});

describe("a run of which many undos failed", () => {
  const failing = (count: number, message: string, error: Error) =>
    play(database, async ({ step }) => {
      const run = () => Promise.reject(new Error(message));
      for (let n = 0; n < count; n += 1)
        await step.run(`s${n}`, () => n, { compensate: { run, retry: { maxAttempts: 1 } } });
      throw error;
    });

  test("says so of the first ten, and keeps what its own error says", async () => {
    const { view } = await failing(
      12,
      "gone ".repeat(2_000),
      Object.assign(new Error("no"), { data: { order: "o1" } }),
    );
    const failed = Array.from({ length: 10 }, (_, n) => ({ step: `s${11 - n}` }));
    expect(view).toMatchObject({ status: "failed", error: { data: { order: "o1", compensation: { failed } } } });
  });

  test("says so where the data of its own error leave no room", async () => {
    const data = { order: "o".repeat(8_000) };
    const { view } = await failing(10, "gone ".repeat(2_000), Object.assign(new Error("no"), { data }));
    expect(view).toMatchObject({
      status: "failed",
      error: { message: "no", data: { compensation: { failed: expect.any(Array) } } },
    });
  });
});

test("a run whose handler takes no notice of its cancel is undone all the same", async () => {
  const { done, act } = ledger();
  const { world, run } = await cancelled(database, async ({ step }) => {
    await act(step, "a");
    await step.sleep("nap", "1 day").catch(() => {});
    return "never mind";
  });
  expect(await world.run(run)).toMatchObject({ status: "cancelled", result: undefined });
  expect(done).toEqual(["a", "undo a: succeeded a"]);
});

test("a run that completes undoes nothing", async () => {
  const { done, act } = ledger();
  const { view } = await ended(async ({ step }) => act(step, "a"));
  expect(view).toMatchObject({ status: "completed" });
  expect(done).toEqual(["a"]);
});
