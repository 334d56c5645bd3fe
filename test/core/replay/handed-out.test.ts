/** The promises that `step` gives to a handler. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Step } from "../../../src/core/contract/step.ts";
import { aHandler } from "./a-handler.ts";

const idle = async () => {};
const failure = { isFailure: true, value: '1{"name":"Error","message":"no"}' };
let unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);

beforeEach(() => {
  unhandled = [];
  process.on("unhandledRejection", note);
});
afterEach(() => {
  process.off("unhandledRejection", note);
});

test("a step that fails before the handler awaits it does not end the process", async () => {
  const { execution, hand } = await aHandler(async (step) => {
    const charge = step.run("charge", idle);
    await step.sleep("nap", "1h");
    try {
      return await charge;
    } catch (error) {
      return error instanceof Error ? error.name : error;
    }
  });
  await hand("charge", undefined, failure);
  await new Promise((resolve) => setImmediate(resolve));
  await hand("nap");
  expect(execution.outcome).toEqual({ kind: "returned", value: "StepError" });
  expect(unhandled).toEqual([]);
});

test.each<[string, (step: Step) => void]>([
  ["map", (step) => void step.map("it", [1], (_, { step }) => step.run("charge", idle))],
  ["all", (step) => void step.all("it", [({ step }) => step.run("charge", idle)])],
  ["race", (step) => void step.race("it", [({ step }) => step.run("charge", idle)])],
  ["scope", (step) => void step.scope("it", ({ step }) => step.run("charge", idle))],
])("a step that fails in what nobody awaits yet does not end the process: %s", async (_, ask) => {
  const { hand, places } = await aHandler(async (step) => {
    ask(step);
    await step.sleep("nap", "1h");
  });
  await hand(places().find((place) => place.endsWith("charge")) ?? "none", undefined, failure);
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});

test.each<[string, (step: Step) => unknown, readonly string[]]>([
  ["a step", (step) => step.run("audit", idle), ['step "audit"']],
  ["one of two", (step) => [step.run("a", idle), step.run("b", idle).then(idle)][0], []],
  ["a sleep", (step) => step.sleep("nap", "1h"), ['sleep "nap"']],
  ["a map", (step) => step.map("ship", [1, 2], (_, { step }) => step.run("send", idle)), ['map "ship"']],
  [
    "a step within a scope",
    (step) => step.scope("refund", async ({ step }) => void step.run("pay", idle)),
    ['step "pay"'],
  ],
  ["what was awaited", (step) => step.run("a", idle).catch(idle), []],
  ["what lost a Promise.race", (step) => Promise.race([step.run("a", idle), Promise.resolve()]), []],
  ["what is awaited by what lost", (step) => Promise.race([slow(step), Promise.resolve()]), []],
])("what a handler asked for and never awaited is told when it returns: %s", async (_, ask, told) => {
  const { execution } = await aHandler(async (step) => {
    const asked = ask(step);
    if (told.length === 0) await Promise.resolve();
    void asked;
    return "done";
  });
  expect(execution.outcome).toMatchObject({ kind: "returned" });
  expect(execution.unawaited).toEqual(told);
});

test("a step that failed and that nobody awaited is told, one that succeeded is not", async () => {
  const { execution, hand } = await aHandler(async (step) => {
    void step.run("good", idle);
    void step.run("bad", idle);
    await step.sleep("nap", "1h");
  });
  await hand("good");
  await hand("bad", undefined, failure);
  await hand("nap");
  expect(execution.unawaited).toEqual(['step "bad", which failed']);
});

test("a wait that failed, and was asked for twice and awaited once, is none that was forgotten", async () => {
  const { execution, hand, places } = await aHandler(async (step) => {
    const callback = step.createCallback("approval");
    void callback.wait();
    await callback.wait().catch(idle);
  });
  await hand(places()[0] ?? "none", undefined, failure);
  expect(execution.outcome).toMatchObject({ kind: "returned" });
  expect(execution.unawaited).toEqual([]);
});

test("what lost a race is none that was forgotten", async () => {
  const { execution, hand } = await aHandler((step) =>
    step.race("first", [({ step }) => slow(step), ({ step }) => step.run("fast", idle)]),
  );
  await hand("first[1]/fast");
  expect(execution.outcome).toMatchObject({ kind: "returned" });
  expect(execution.unawaited).toEqual([]);
});

async function slow(step: Step): Promise<void> {
  const charge = step.run("charge", idle);
  await step.sleep("nap", "1h");
  await charge;
}
