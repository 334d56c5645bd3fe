/** Cancel, in the course of a run: what is told, what is recorded, and how it ends. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancel, cancelled, reason, recordsOf } from "./cancelling.ts";
import { type TestedContext, tested, worldOf } from "./playing.ts";
import type { World } from "./world.ts";

const database = testDatabase();
const minute = 60_000;
const error = { name: "CancelledError", message: `the run was cancelled: ${reason}` };

type Handle = (context: TestedContext, world: World) => Promise<unknown>;
const fail = () => {
  throw new Error("busy");
};

describe("a run that is cancelled", () => {
  test("is told where it waits, and ends as cancelled with the reason", async () => {
    const seen: unknown[] = [];
    const { world, run } = await cancelled(database, async ({ step }) => {
      try {
        await step.sleep("nap", "1 day");
      } catch (error) {
        seen.push(error);
        throw error;
      }
    });
    await world.pass("10 seconds");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", error, dueAt: undefined });
    expect(seen).toMatchObject([{ name: "CancelledError", reason }]);
    expect(world.events.at(-1)).toMatchObject({ kind: "run_cancelled", runId: run.runId });
  });

  test.each<[string, Handle]>([
    ["it catches the error and returns", async ({ step }) => step.sleep("nap", "1 day").catch(() => "fine")],
    [
      "it throws an error of its own",
      async ({ step }) =>
        step.sleep("nap", "1 day").catch(() => {
          throw new Error("no");
        }),
    ],
    ["it never ends", async ({ step }, world) => step.sleep("nap", "1 day").catch(() => world.foreign())],
    [
      "it asks for ever",
      async ({ step }) => {
        for (;;) await step.sleep("nap", "1 day").catch(() => {});
      },
    ],
  ])("is cancelled within seconds, and not blocked, though %s", async (_, handle) => {
    const { world, run } = await cancelled(database, handle);
    await world.pass("10 seconds");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", result: undefined, error });
  });

  test.each<[string, Handle]>([
    ["is asleep", async ({ step }) => step.sleep("nap", "1 day")],
    ["waits for a signal", async ({ step }) => step.waitForSignal("go")],
    ["waits for a callback", async ({ step }) => step.waitForCallback("approval", () => {})],
    ["is to try a step again", async ({ step }) => step.run("it", fail, { retry: { delay: "1 hour" } })],
    [
      "has fifty branches asleep",
      async ({ step }) => Promise.all(Array.from({ length: 50 }, (_, n) => step.sleep(`nap ${n}`, "1 day"))),
    ],
    [
      "has fifty branches to try again",
      async ({ step }) =>
        step.mapSettled(
          "it",
          Array.from({ length: 50 }, (_, n) => n),
          (_, { step }) => step.run("it", fail, { retry: { delay: "1 hour" } }),
        ),
    ],
    [
      "has a map with branches that queue",
      async ({ step }) =>
        step.map("it", [1, 2, 3, 4], (_, { step }) => step.run("it", fail, { retry: { delay: "1 hour" } }), {
          maxConcurrency: 2,
        }),
    ],
  ])("ends at once where it %s", async (_, handle) => {
    const { world, run } = await cancelled(database, handle);
    await world.pass("10 seconds");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", error });
    expect((await world.history(run)).pending).toEqual([]);
    await world.pass("2 days"); // alarms that were armed before ring once more
    const before = world.statements();
    await world.pass("2 days");
    expect(world.statements()).toBe(before);
  });

  test("takes no signal that came before it was told", async () => {
    const world = await worldOf(database, async ({ step }) => {
      await step.sleep("nap", "1 hour");
      await step.waitForSignal("go");
    });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.signal(run, tested, "go", 1);
    await cancel(world, run);
    expect(await world.run(run)).toMatchObject({ status: "cancelled", untaken: { go: 1 } });
    expect(await recordsOf({ world, run })).toEqual(["closing "]);
  });

  test("ends though it is paused", async () => {
    const world = await worldOf(database, async ({ step }) => step.sleep("nap", "1 hour"));
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.ask((client) => client.pause(run.runId));
    expect(await cancel(world, run)).toMatchObject({ outcome: "cancelling" });
    await world.pass("10 seconds");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", pausedAt: undefined, error });
  });

  test("ends at once where its start was put off, and its handler is never called", async () => {
    const calls: number[] = [];
    const world = await worldOf(database, async () => calls.push(1));
    const run = await world.start(tested, undefined, { delay: "1 hour" });
    await world.pass("1 minute");
    expect(await cancel(world, run)).toMatchObject({ outcome: "cancelled" });
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", error, records: 0 });
    await world.pass("2 hours");
    expect(calls).toEqual([]);
  });

  test("may be cancelled again while it cleans up, and the first reason stands; when it is over, that does not apply", async () => {
    const { world, run } = await cancelled(database, async ({ step }) => {
      try {
        await step.sleep("nap", "1 day");
      } finally {
        await step.cleanup("settle", ({ step }) => step.sleep("it", "5 minutes"));
      }
    });
    await world.pass("1 minute");
    const again = await world.ask((client) => client.cancel(run.runId, { reason: "another" }));
    expect(again).toMatchObject({ outcome: "cancelling" });
    await expect(world.ask((client) => client.pause(run.runId))).rejects.toMatchObject({ code: "not_applicable" });
    expect(await world.run(run)).toMatchObject({ status: "cancelled", error });
    await expect(cancel(world, run)).rejects.toMatchObject({ code: "not_applicable" });
    const { operations } = await world.history(run);
    expect(operations.map(({ verb, verdict }) => `${verb} ${verdict}`)).toEqual([
      "cancel cancelling",
      "cancel cancelling",
      "pause not_applicable",
      "cancel not_applicable",
    ]);
  });
});

describe("a blocked run that is cancelled", () => {
  async function blocked() {
    const world = await worldOf(database, async ({ step }) => {
      await step.run("charge", () => 1);
      await step.sleep("nap", "1 hour");
    });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.deploy({ workflows: [tested.handler(async ({ step }) => step.run("pay", () => 1))] });
    expect(await world.run(run)).toMatchObject({ status: "blocked" });
    return { world, run };
  }

  test("is blocked again where the code still does not fit, and ends when it does", async () => {
    const { world, run } = await blocked();
    expect(await cancel(world, run)).toMatchObject({ outcome: "cancelling" });
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({ status: "blocked" });
    await world.deploy({
      workflows: [
        tested.handler(async ({ step }) => {
          await step.run("charge", () => 1);
          await step.sleep("nap", "1 hour");
        }),
      ],
    });
    expect(await world.run(run)).toMatchObject({ status: "cancelled", error });
  });

  test.each([
    ["no longer", 300],
    ["still", 3_600_000],
  ])(
    "ends where its handler %s waits too long for something of its own, though a dispatch is lost",
    async (_, later) => {
      let slow = 3_600_000;
      const world = await worldOf(database, async ({ step }) => {
        await world.foreign(slow);
        await step.sleep("nap", "1 day");
      });
      const run = await world.start(tested);
      expect(await world.run(run)).toMatchObject({ status: "blocked" });
      slow = later;
      let lost = 0;
      world.fate = ({ port }) => (port === "dispatch" && lost++ === 0 ? "fails before" : "passes");
      await cancel(world, run).catch(() => {});
      await world.pass("3 minutes");
      expect(lost).toBeGreaterThan(0);
      expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", error });
    },
  );

  test("may be terminated where the code does not fit", async () => {
    const { world, run } = await blocked();
    await cancel(world, run);
    await world.pass("1 minute");
    await world.ask((client) => client.terminate(run.runId));
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled" });
  });
});

test("a cancelled run whose version nobody carries any more ends when somebody does", async () => {
  const world = await worldOf(database, async ({ step }) => step.sleep("nap", "1 day"));
  const run = await world.start(tested);
  await world.pass("1 minute");
  await world.deploy({ workflows: [workflow({ name: "another", version: 1 }).handler(async () => 1)] });
  expect(await cancel(world, run)).toMatchObject({ outcome: "cancelling" });
  await world.pass("1 hour");
  expect(await world.get(run.runId)).toMatchObject({ status: "cancelling" });
  await world.deploy({ workflows: [tested.handler(async ({ step }) => step.sleep("nap", "1 day"))] });
  await world.pass("1 minute");
  expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", error });
});

test("a cancel whose dispatch is lost is carried out within two minutes", async () => {
  const world = await worldOf(database, async ({ step }) => step.sleep("nap", "1 day"));
  const run = await world.start(tested);
  await world.pass("1 minute");
  let isLost = false;
  world.fate = ({ port }) => {
    if (port !== "dispatch" || isLost) return "passes";
    isLost = true;
    return "fails before";
  };
  const at = world.time;
  await cancel(world, run).catch(() => {});
  expect(isLost).toBe(true);
  expect(await world.run(run)).toMatchObject({ status: "cancelled", error });
  expect(world.time - at).toBeLessThanOrEqual(2 * minute);
});

test("a cancel whose answer is lost is done once, however often it is asked for", async () => {
  const world = await worldOf(database, async ({ step }) => step.sleep("nap", "1 day"));
  const run = await world.start(tested);
  await world.pass("1 minute");
  let deaths = 0;
  world.fate = ({ what }) => (what === "cancel_run" && deaths++ === 0 ? "dies after" : "passes");
  const callId = world.chance.uuid();
  expect(await world.ask((client) => client.cancel(run.runId, { reason, callId }))).toMatchObject({
    outcome: "cancelling",
  });
  expect(await world.run(run)).toMatchObject({ status: "cancelled", error });
  expect((await world.history(run)).operations).toHaveLength(1);
});
