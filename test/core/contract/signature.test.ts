import { workflow } from "layover";
import * as v from "valibot";
import { expect, test } from "vitest";
import * as z from "zod";
import * as mini from "zod/mini";
import { signatureOf } from "../../../src/core/contract/signature.ts";

const amount = z.object({ amount: z.number(), currency: z.string() });
const given = {
  ...{ name: "order", version: 1, input: amount, output: z.string() },
  ...{ signals: { paid: z.string(), sent: z.number() }, callbacks: { approval: z.boolean() }, status: z.string() },
};
const order = signatureOf(workflow(given));

test("is sixteen digits, and the same for the same contract written down again", () => {
  expect(order).toMatch(/^[0-9a-f]{16}$/);
  expect(signatureOf(workflow({ ...given, input: z.object({ amount: z.number(), currency: z.string() }) }))).toBe(
    order,
  );
});

test("does not change with the order of keys, nor with the timeout", () => {
  const input = z.object({ currency: z.string(), amount: z.number() });
  const signals = { sent: z.number(), paid: z.string() };
  expect(signatureOf(workflow({ ...given, signals, timeout: "1 day" }))).toBe(order);
  expect(signatureOf(workflow({ ...given, input: z.strictObject(input.shape) }))).toBe(
    signatureOf(workflow({ ...given, input: z.strictObject(amount.shape) })),
  );
});

test.each([
  ["name", { name: "orders" }],
  ["version", { version: 2 }],
  ["input", { input: z.object({ amount: z.number() }) }],
  ["output", { output: z.number() }],
  ["signal's payload", { signals: { ...given.signals, sent: z.string() } }],
  ["signals", { signals: { ...given.signals, lost: z.string() } }],
  ["callback's answer", { callbacks: { approval: z.string() } }],
  ["status", { status: z.number() }],
])("changes with the %s", (_, changes) => {
  const { name, version, input, output, signals, callbacks, status } = { ...given, ...changes };
  expect(signatureOf(workflow({ name, version, input, output, signals, callbacks, status }))).not.toBe(order);
});

test("tells apart that a schema is there, where it does not say what it takes", () => {
  const none = signatureOf(workflow({ name: "order", version: 1 }));
  const some = signatureOf(workflow({ name: "order", version: 1, input: v.object({ amount: v.number() }) }));
  expect(some).not.toBe(none);
});

test("knows the schemas of zod/mini", () => {
  const one = signatureOf(workflow({ name: "order", version: 1, input: mini.object({ amount: mini.number() }) }));
  const other = signatureOf(workflow({ name: "order", version: 1, input: mini.object({ amount: mini.string() }) }));
  expect(one).not.toBe(other);
});
