/**
 * Replay: a handler is run again over its history, and comes to the same place. Each test is a rule of it, without a
 * database.
 */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Step } from "../../../src/core/contract/step.ts";
import { aHandler } from "./a-handler.ts";

const idle = async () => {};

test("the handler runs on to where it waits, and goes on with each record", async () => {
  const { execution, hand, places } = await aHandler(async (step) => {
    const order = await step.run("read", idle);
    await step.sleep("nap", "1h");
    return [order, await step.waitForSignal("go")];
  });
  expect(places()).toEqual(["read"]);
  await hand("read", "order 1");
  expect(places()).toEqual(["nap"]);
  await hand("nap");
  expect(places()).toEqual(["go"]);
  await hand("go", 3);
  expect(execution.outcome).toEqual({ kind: "returned", value: ["order 1", 3] });
});

test("what is asked for side by side waits side by side, and goes on in the order of the history", async () => {
  const told: string[] = [];
  const { places, hand } = await aHandler((step) =>
    Promise.all(["a", "b", "c"].map(async (name) => told.push(await step.run(name, () => name)))),
  );
  expect(places()).toEqual(["a", "b", "c"]);
  for (const place of ["b", "c", "a"]) await hand(place, place);
  expect(told).toEqual(["b", "c", "a"]);
});

test("what is named alike is counted", async () => {
  const { places, hand } = await aHandler(async (step) => {
    await step.run("charge", idle);
    await Promise.all([step.run("charge", idle), step.scope("refund", ({ step }) => step.run("charge", idle))]);
  });
  await hand("charge");
  expect(places()).toEqual(["charge#2", "refund/charge"]);
});

test.each<[string, (step: Step) => Promise<unknown>]>([
  ["Promise.race", (step) => Promise.race([step.run("a", idle), step.run("b", idle)])],
  ["Promise.any", (step) => Promise.any([step.run("a", idle), step.run("b", idle)])],
  ["step.race", (step) => step.race("it", [({ step }) => step.run("a", idle), ({ step }) => step.run("b", idle)])],
])("%s is won by the record that comes first in the history", async (_, race) => {
  for (const winner of [0, 1]) {
    const { execution, hand, places } = await aHandler(race);
    const place = places()[winner];
    if (place === undefined) throw new Error("both wait");
    await hand(place, `${winner} won`);
    expect(execution.outcome).toEqual({ kind: "returned", value: `${winner} won` });
  }
});

test("a record of what lost a race may still come, and changes nothing", async () => {
  const { execution, hand, places } = await aHandler(async (step) => {
    const first = await step.race("it", [({ step }) => step.run("a", idle), ({ step }) => step.run("b", idle)]);
    await step.sleep("nap", "1h");
    return first;
  });
  await hand("it[0]/a", "first");
  expect([places(), [...execution.races.losers.keys()]]).toEqual([["nap"], ["it[1]/b"]]);
  await execution.hand({
    ...{ kind: "step", path: "it[1]/b", occurrence: 1, isFailure: false },
    ...{ value: '1"late"', recordedAt: execution.now, attempts: 1 },
  });
  await hand("nap");
  expect(execution.outcome).toEqual({ kind: "returned", value: "first" });
});

test("time is that of the last record, so a sleep ends at the same instant in each replay", async () => {
  const seen: number[] = [];
  const { execution, hand, find } = await aHandler(async (step) => {
    seen.push(step.now().getTime());
    await step.run("work", idle);
    seen.push(step.now().getTime());
    await step.sleep("nap", "1h");
  });
  const beganAt = execution.now;
  await hand("work");
  expect(seen).toEqual([beganAt, beganAt + 1_000]);
  expect(find("nap").wanted).toEqual({ kind: "sleep", until: beganAt + 1_000 + 3_600_000 });
});

test("random numbers and ids are the same in each replay, and differ from call to call", async () => {
  const draw = async (step: Step) => [step.uuid(), step.uuid(), step.random(), step.random()];
  const drawn = async () => {
    const { execution } = await aHandler(draw);
    if (execution.outcome?.kind !== "returned" || !Array.isArray(execution.outcome.value)) throw new Error("it drew");
    return execution.outcome.value;
  };
  const first = await drawn();
  expect(new Set(first).size).toBe(4);
  expect(await drawn()).toEqual(first);
});

test("a failure in the history is thrown, with the place, the attempts and the cause", async () => {
  const { execution, hand } = await aHandler(async (step) => {
    await step.run("charge", idle);
    return await step.run("charge", idle).catch((error: unknown) => error);
  });
  await hand("charge");
  const value = '1{"name":"CardError","message":"declined"}';
  await execution.hand({
    ...{ kind: "step", path: "charge", occurrence: 2, isFailure: true },
    ...{ value, recordedAt: execution.now, attempts: 3 },
  });
  expect(execution.outcome).toMatchObject({
    kind: "returned",
    value: { name: "StepError", step: "charge#2", attempts: 3, cause: { name: "CardError", message: "declined" } },
  });
});

test("code that does not ask for what the history holds is told what it asks for instead", async () => {
  const { execution } = await aHandler(async (step) => {
    await Promise.all([step.run("charge", idle), step.sleep("nap", "1h")]);
  });
  await execution.hand({
    ...{ kind: "step", path: "pay", occurrence: 1, isFailure: false },
    ...{ value: "1null", recordedAt: execution.now, attempts: 1 },
  });
  expect(execution.divergence).toBe(
    "the history holds step pay at position 1, where the code asks for step charge, sleep nap",
  );
  expect(execution.position).toBe(0);
});

test("code that ends before its history does is told so", async () => {
  const { execution } = await aHandler(async () => "done");
  await execution.hand({
    ...{ kind: "step", path: "pay", occurrence: 1, isFailure: false },
    ...{ value: "1null", recordedAt: execution.now, attempts: 1 },
  });
  expect(execution.divergence).toBe("the history holds step pay at position 1, where the code has ended");
});

test("code that waits for something of its own is held up, and may be tried again", async () => {
  let answer = () => {};
  const { execution } = await aHandler(async (step) => {
    await new Promise<void>((resolve) => (answer = resolve));
    await step.run("pay", idle);
  });
  expect(execution.isAwaitingForeign).toBe(true);
  const late = execution.awaitForeign(new Promise(() => {}));
  answer();
  await late;
  expect([execution.isAwaitingForeign, execution.divergence]).toEqual([false, undefined]);
});

test("code that goes on by itself beside a step has no place in the history", async () => {
  const { execution } = await aHandler(async (step) => {
    const paid = step.run("pay", idle);
    await setImmediate();
    await setImmediate();
    await step.run("audit", idle);
    await paid;
  });
  await setImmediate();
  await setImmediate();
  expect(execution.divergence).toBe(
    "audit was asked for while the run waited for something else: the code before it awaits something that is no step",
  );
});

test("a step within the body of a step is refused, since a replay does not run the body again", async () => {
  const { execution, find } = await aHandler(async (step) => {
    await step.run("outer", () => step.run("inner", idle));
  });
  const { wanted } = find("outer");
  if (wanted.kind !== "step") throw new Error("it is a step");
  const context = { attempt: 1, idempotencyKey: "key", abortSignal: new AbortController().signal };
  await expect(async () => wanted.body(context)).rejects.toThrow("inner was asked for in the body of step outer");
  expect(execution.pending).toHaveLength(1);
});

test("a cancelled run may clean up, and waits for nobody outside any more", async () => {
  const { execution, hand, places } = await aHandler(async (step) => {
    const told = await step.waitForSignal("go").catch(String);
    await step.run("refund", idle);
    return [told, await step.waitForSignal("go").catch(String)];
  });
  await execution.hand({
    ...{ kind: "cancellation", path: "", occurrence: 1, isFailure: false },
    ...{ value: "timed out", recordedAt: execution.now, attempts: 1 },
  });
  expect(places()).toEqual(["refund"]);
  await hand("refund");
  const refusal = "CancelledError: the run was cancelled: timed out";
  expect(execution.outcome).toEqual({
    kind: "returned",
    value: [refusal, refusal],
  });
});
