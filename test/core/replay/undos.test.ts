/** What a run owes when it ends, over its history: which undos, in which order, and what each of them is told. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { encode } from "../../../src/core/codec/codec.ts";
import { toStoredError } from "../../../src/core/codec/stored-value.ts";
import { retryDelay } from "../../../src/core/contract/retry.ts";
import type { Step, UndoContext } from "../../../src/core/contract/step.ts";
import { writeEnding } from "../../../src/core/replay/undos.ts";
import { aHandler, type Handled } from "./a-handler.ts";

const error = "0{}";

interface Told {
  readonly name: string;
  readonly result: unknown;
  readonly context: UndoContext;
}

/** A step whose undo tells what it was given. */
function undoable(told: Told[] = []) {
  return (step: Step, name: string) =>
    step.run(name, () => name, { compensate: (result, context) => void told.push({ name, result, context }) });
}

const recordOfRun = (execution: Handled["execution"]) => ({ path: "", occurrence: 1, recordedAt: execution.now });

/** Hands out the record after which undos begin. By default it lists what is owed. */
async function end({ execution }: Handled, owed = execution.undos.owed): Promise<void> {
  const value = writeEnding({ next: "failed", error, owed });
  await execution.hand({ ...recordOfRun(execution), kind: "ending", isFailure: false, value, attempts: 1 });
}

async function close({ execution }: Handled, attempts: number): Promise<void> {
  const value = "ordered twice";
  await execution.hand({ ...recordOfRun(execution), kind: "closing", isFailure: true, value, attempts });
}

const owedBy = ({ execution }: Handled) => execution.undos.owed.map(({ path }) => path);

describe("what a run owes", () => {
  test("is undone by the positions of the records, the last one first", async () => {
    const act = undoable();
    const handled = await aHandler((step) => Promise.all([act(step, "a"), act(step, "b"), act(step, "c")]));
    for (const place of ["b", "c", "a"]) await handled.hand(place);
    expect(owedBy(handled)).toEqual(["a", "c", "b"]);
  });

  test("counts a step without a record by where it was demanded, and a half; those demanded together, the last one first", async () => {
    const act = undoable();
    const handled = await aHandler(async (step) => {
      const early = [act(step, "early"), act(step, "beside")];
      await act(step, "first");
      await act(step, "second");
      await Promise.all([...early, act(step, "late")]);
    });
    await handled.hand("first");
    await handled.hand("second");
    for (const path of ["early", "beside", "late"]) handled.execution.undos.noteBegun({ path, occurrence: 1 });
    expect(owedBy(handled)).toEqual(["late", "second", "first", "beside", "early"]);
  });

  test("leaves out what never began, and steps that cannot be undone", async () => {
    const act = undoable();
    const handled = await aHandler((step) => Promise.all([act(step, "a"), act(step, "b"), step.run("c", () => 1)]));
    await handled.hand("c");
    expect([owedBy(handled), handled.execution.undos.hasUnrecorded]).toEqual([[], true]);
    await handled.hand("a");
    expect(owedBy(handled)).toEqual(["a"]);
  });

  test("holds a race's loser that recorded after the race was decided", async () => {
    const act = undoable();
    const handled = await aHandler(async (step) => {
      await step.race("first", [({ step }) => act(step, "quick"), ({ step }) => act(step, "slow")]);
      await step.sleep("nap", "1 hour");
    });
    const slow = handled.find("first[1]/slow");
    await handled.hand("first[0]/quick");
    expect(owedBy(handled)).toEqual(["first[0]/quick"]);
    const record = { kind: "step" as const, path: slow.path, occurrence: 1, isFailure: false, value: encode(1) };
    await handled.execution.hand({ ...record, recordedAt: handled.execution.now, attempts: 1 });
    expect(owedBy(handled)).toEqual(["first[1]/slow", "first[0]/quick"]);
  });

  test.each<readonly [what: string, ask: (step: Step) => Promise<unknown>]>([
    ["a step", (step) => undoable()(step, "b")],
    ["a sleep", (step) => step.sleep("b", "1 hour")],
    ["a signal", (step) => step.waitForSignal("go")],
    ["a cleanup", (step) => step.cleanup("b", ({ step }) => step.run("it", () => 1))],
    ["a map", (step) => step.map("b", [1], (_, { step }) => step.run("it", () => 1))],
  ])("holds what recorded after the handler threw, and %s that would follow it is never asked for", async (_, ask) => {
    const settled: unknown[] = [];
    const act = undoable();
    const handled = await aHandler(async (step) => {
      void act(step, "a")
        .then(() => ask(step))
        .finally(() => settled.push("b"));
      await step.sleep("nap", "1 hour");
      throw new Error("no");
    });
    await handled.hand("nap");
    await handled.hand("a");
    const { execution, places } = handled;
    expect([places(), execution.outcome?.kind, execution.divergence]).toEqual([[], "threw", undefined]);
    expect(owedBy(handled)).toEqual(["a"]);
    await end(handled);
    expect([places(), settled]).toEqual([["[undo]/a"], []]);
  });

  test.each([
    ["which was begun and not finished", 2, ["charge"]],
    ["which was not begun", 1, []],
  ])("at a cancel holds the one step that the run was to carry out, %s", async (_, attempts, owed) => {
    const act = undoable();
    const handled = await aHandler((step) => act(step, "charge"));
    await close(handled, attempts);
    expect(owedBy(handled)).toEqual(owed);
  });

  test("at a cancel holds none of several steps for which rows tell whether they were begun", async () => {
    const act = undoable();
    const beside = (step: Step) => step.cleanup("release", ({ step }) => step.run("b", () => 1));
    for (const others of [act, beside]) {
      const handled = await aHandler((step) => Promise.all([act(step, "a"), others(step, "b")]));
      await close(handled, 2);
      expect(owedBy(handled)).toEqual([]);
    }
  });
});

describe("an undo", () => {
  const contextOf = (key: string) => ({ attempt: 1, idempotencyKey: key, abortSignal: new AbortController().signal });

  /** Carries out the body of what the run waits for, and hands out its record. */
  async function carryOut(handled: Handled, isFailure = false): Promise<void> {
    const [demand] = handled.execution.pending;
    if (demand?.wanted.kind !== "step") throw new Error("the run waits for no step");
    await demand.wanted.body(contextOf("of the undo"));
    const value = isFailure ? toStoredError({ name: "Error", message: "gone" }) : encode(null);
    await handled.hand(demand.path, undefined, { isFailure, value });
  }

  test("is told the result, or how the step failed, and the key that its body was given", async () => {
    const told: Told[] = [];
    const act = undoable(told);
    const handled = await aHandler(async (step) => {
      await act(step, "a");
      await act(step, "b").catch(() => {});
      throw new Error("no");
    });
    await handled.hand("a", "result of a");
    const value = toStoredError({ name: "Error", message: "lost" });
    await handled.hand("b", undefined, { isFailure: true, value });
    await end(handled);
    await carryOut(handled);
    await carryOut(handled);
    expect(told).toMatchObject([
      { name: "b", result: undefined, context: { outcome: "unknown", error: { message: "lost" } } },
      { name: "a", result: "result of a", context: { outcome: "succeeded", error: undefined } },
    ]);
    const [b, a] = told.map(({ context }) => context.original.idempotencyKey);
    expect(b).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set([a, b, "of the undo"]).size).toBe(3);
    expect(handled.execution.outcome).toEqual({ kind: "undone", failed: [] });
  });

  test("comes after the one before it, also when that one failed for good", async () => {
    const act = undoable();
    const handled = await aHandler(async (step) => {
      await act(step, "a");
      await act(step, "b");
      throw new Error("no");
    });
    await handled.hand("a");
    await handled.hand("b");
    await end(handled);
    expect(handled.places()).toEqual(["[undo]/b"]);
    await carryOut(handled, true);
    expect(handled.places()).toEqual(["[undo]/a"]);
    await carryOut(handled);
    expect(handled.execution.outcome).toMatchObject({
      kind: "undone",
      failed: [{ step: "b", error: { cause: { message: "gone" } } }],
    });
  });

  test("is tried for 24 hours, in the end every ten minutes", async () => {
    const act = undoable();
    const handled = await aHandler((step) => act(step, "a"));
    await handled.hand("a");
    await end(handled);
    const [demand] = handled.execution.pending;
    if (demand?.wanted.kind !== "step") throw new Error("the run waits for no step");
    const { retry } = demand.wanted;
    const pauses = Array.from({ length: retry.maxAttempts - 1 }, (_, failed) => retryDelay(retry, failed + 1, 1));
    const hours = pauses.reduce((sum, pause) => sum + pause, 0) / 3_600_000;
    expect(hours).toBeGreaterThanOrEqual(24);
    expect(hours).toBeLessThan(24.5);
    expect([pauses[0], Math.max(...pauses), retry.jitter]).toEqual([1_000, 600_000, false]);
  });

  test("that the list does not hold is not carried out, whatever the code says today", async () => {
    const act = undoable();
    const handled = await aHandler(async (step) => {
      await act(step, "a");
      await act(step, "b");
      throw new Error("no");
    });
    await handled.hand("a");
    await handled.hand("b");
    await end(handled, [{ path: "a", occurrence: 1 }]);
    expect(handled.places()).toEqual(["[undo]/a"]);
    await carryOut(handled);
    expect(handled.execution.outcome).toEqual({ kind: "undone", failed: [] });
  });

  test("that the code does not hold any more fails by name, and the others go on", async () => {
    const act = undoable();
    const handled = await aHandler(async (step) => {
      await act(step, "a");
      await step.run("b", () => 1);
      throw new Error("no");
    });
    await handled.hand("a");
    await handled.hand("b");
    await end(handled, [
      { path: "b", occurrence: 1 },
      { path: "a", occurrence: 1 },
    ]);
    await expect(carryOut(handled)).rejects.toMatchObject({ code: "compensation_missing" });
    await handled.hand("[undo]/b", undefined, { isFailure: true, value: error });
    expect(handled.places()).toEqual(["[undo]/a"]);
  });

  test("of a step in a cleanup is refused by name", async () => {
    const told: unknown[] = [];
    await aHandler((step) =>
      step.cleanup("tidy", async (room) => {
        const compensate = () => {};
        const inner = room.step as Step;
        await inner.run("a", () => 1, { compensate }).catch((error: unknown) => told.push(error));
      }),
    );
    expect(told).toMatchObject([{ code: "invalid_request" }]);
  });

  test("is not disturbed by a handler that goes on after its run has ended", async () => {
    const act = undoable();
    let wake = () => {};
    const handled = await aHandler(async (step) => {
      await act(step, "a");
      void new Promise<void>((resolve) => (wake = resolve)).then(() => step.run("late", () => 1));
      throw new Error("no");
    });
    await handled.hand("a");
    await end(handled);
    wake();
    await setImmediate();
    expect([handled.places(), handled.execution.divergence]).toEqual([["[undo]/a"], undefined]);
  });
});
