/** Waits for signals: which wait gets which signal, what happens at a deadline, and signals that are sent from SQL. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

describe("a wait for a signal", () => {
  test("ends when the signal comes", async () => {
    const world = await worldOf(database, async ({ step }) => step.waitForSignal("go"));
    const run = await world.start(tested);
    await world.pass("3 days");
    expect(await world.get(run.runId)).toMatchObject({ status: "waiting", dueAt: undefined });
    await world.signal(run, tested, "go", { city: "Bonn" });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: { city: "Bonn" } });
    expect(world.time).toBe(3 * 86_400_000);
  });

  test("takes signals that came before anyone waited, in the order in which they came", async () => {
    const world = await worldOf(database, async ({ step }) => {
      await step.sleep("nap", "1 hour");
      return [await step.waitForSignal("go"), await step.waitForSignal("other"), await step.waitForSignal("go")];
    });
    const run = await world.start(tested);
    await world.signal(run, tested, "go", 1);
    await world.signal(run, tested, "go", 2);
    await world.signal(run, tested, "other", 3);
    expect(await world.run(run)).toMatchObject({ status: "completed", result: [1, 3, 2] });
  });

  test("takes more signals than a claim offers at once", async () => {
    const world = await worldOf(database, async ({ step }) => {
      await step.sleep("nap", "1 hour");
      const taken: unknown[] = [];
      while (taken.length < 45) taken.push(await step.waitForSignal("go", { timeout: 0, onTimeout: "null" }));
      return taken;
    });
    const run = await world.start(tested);
    for (let number = 0; number < 43; number += 1) await world.signal(run, tested, "go", number);
    expect((await world.run(run)).result).toEqual([...Array.from({ length: 43 }, (_, number) => number), null, null]);
  });

  test("shares its signals with others by the order of demand", async () => {
    const world = await worldOf(database, async ({ step }) =>
      Promise.all([step.waitForSignal("go"), step.waitForSignal("go"), step.waitForSignal("other")]),
    );
    const run = await world.start(tested);
    await world.signal(run, tested, "other", "c");
    await world.signal(run, tested, "go", "a");
    await world.signal(run, tested, "go", "b");
    expect(await world.run(run)).toMatchObject({ result: ["a", "b", "c"] });
  });

  test("throws a TimeoutError at its deadline", async () => {
    const { view, world } = await play(database, async ({ step }) => {
      try {
        return await step.waitForSignal("go", { timeout: "2 hours" });
      } catch (error) {
        return { ...Object(error), message: error instanceof Error && error.message };
      }
    });
    expect(view.result).toEqual({
      name: "TimeoutError",
      kind: "signal",
      wait: "go",
      timeoutMs: 7_200_000,
      message: 'the signal "go" did not arrive within 2 h',
    });
    expect(world.time).toBe(7_200_000);
  });

  test("gives null at its deadline, where that is asked for", async () => {
    const { view } = await play(database, async ({ step }) => {
      const first = await step.waitForSignal("go", { timeout: "5s", onTimeout: "null" });
      return [first, await step.waitForSignal("go", { timeout: "5s", onTimeout: "null" })];
    });
    expect(view.result).toEqual([null, null]);
  });

  test("of no time takes a signal that came before the run began", async () => {
    const world = await worldOf(database, async ({ step }) =>
      step.waitForSignal("go", { timeout: 0, onTimeout: "null" }),
    );
    const run = await world.start(tested, undefined, { delay: "1 hour" });
    await world.pass("10 minutes");
    await world.ask((client) => client.run(tested, run.runId).signal("go", "now"));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "now" });
  });

  test("takes a signal that came at its very deadline", async () => {
    const world = await worldOf(database, async ({ step }) => step.waitForSignal("go", { timeout: "1 hour" }));
    const run = await world.start(tested);
    await world.pass(3_599_999);
    world.fate = ({ what }) => (what === "list_due" && world.time === 3_600_000 ? "fails before" : "passes");
    await world.pass(1);
    await world.signal(run, tested, "go", "just in time");
    world.fate = () => "passes";
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "just in time" });
  });

  test("that timed out takes nothing, though the signal came before anybody looked", async () => {
    const world = await worldOf(database, async ({ step }) => [
      await step.waitForSignal("go", { timeout: "1 hour", onTimeout: "null" }),
      await step.waitForSignal("go"),
    ]);
    const run = await world.start(tested);
    world.fate = ({ what }) => (what === "list_due" ? "fails before" : "passes");
    await world.pass(3_600_001);
    await world.signal(run, tested, "go", "too late");
    world.fate = () => "passes";
    expect(await world.run(run)).toMatchObject({ status: "completed", result: [null, "too late"] });
    expect((await world.history(run)).records.map(({ value }) => value)).toEqual([undefined, "too late"]);
  });

  test("sent past the door, from SQL, with what its schema refuses, throws", async () => {
    const contract = workflow({ name: "strict", version: 1, signals: { go: z.object({ n: z.coerce.number() }) } });
    const world = await World.begin(database, {
      workflows: [
        contract.handler(async ({ step }) => {
          const good = await step.waitForSignal("go");
          return [
            good,
            await step.waitForSignal("go").catch((error: unknown) => ({ ...Object(error), text: String(error) })),
          ];
        }),
      ],
    });
    const run = await world.start(contract);
    await world.settle();
    for (const payload of [{ n: "7" }, { n: "seven" }]) {
      const { runId } = run;
      const call = JSON.stringify({ namespace: world.namespace, runId, name: "go", payload });
      await database.query("select layover.send_signal($1)", [call]);
    }
    await world.tick();
    const { status, result } = await world.run(run);
    expect(status).toBe("completed");
    expect(result).toMatchObject([{ n: 7 }, { code: "invalid_payload" }]);
    expect(JSON.stringify(result)).toContain("does not fit its schema");
  });

  test("sent from SQL is seen by whoever wakes the scheduler", async () => {
    const world = await worldOf(database, async ({ step }) => step.waitForSignal("go"));
    const run = await world.start(tested);
    await world.settle();
    const call = { namespace: world.namespace, runId: run.runId, name: "go", payload: { from: "psql" } };
    await database.query("select layover.send_signal($1)", [JSON.stringify(call)]);
    await world.ask((client) => client.wake());
    expect(await world.run(run)).toMatchObject({ status: "completed", result: { from: "psql" } });
  });
});
