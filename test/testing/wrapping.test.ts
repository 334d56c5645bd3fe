/** The kit's database, wrapped as a deployment wraps its own: with a store for large values, encrypted, or both. */
import { randomBytes } from "node:crypto";
import { workflow } from "layover";
import { encrypted } from "layover/encryption";
import { type ValueStore, withStore } from "layover/store";
import { expect, test } from "vitest";
import * as z from "zod";
import { type TestEngineOptions, testEngine } from "../../src/testing.ts";
import { MemoryStore } from "../postgres/store/memory-store.ts";

const large = "x".repeat(2 * 1024 * 1024);
const report = workflow({ name: "report", version: 1, input: z.string(), output: z.string() });
const reportWorkflow = report.handler(async ({ input, step }) => {
  const made = await step.run("make", () => input);
  await step.sleep("a day", "1 day");
  return made;
});
const keys = {
  current: "k1",
  keys: { k1: randomBytes(32).toString("base64") },
  sameness: randomBytes(32).toString("base64"),
};

/** A store in memory, which answers some real time later, as a disk does. */
function aStore() {
  const memory = new MemoryStore();
  const later = () => new Promise((resolve) => setTimeout(resolve, 50));
  const store: ValueStore = {
    put: (key, value) => later().then(() => memory.put(key, value)),
    get: (key) => later().then(() => memory.get(key)),
    delete: (keys) => later().then(() => memory.delete(keys)),
  };
  return { store, values: memory.values };
}

async function anEngine(wrap: TestEngineOptions["wrap"]) {
  return await testEngine({ workflows: [reportWorkflow], wrap, patience: 1 });
}

test("without a store, a value is refused that the database does not take", async () => {
  await using t = await anEngine(undefined);
  await expect(t.start(report, large)).rejects.toMatchObject({ code: "value_too_large" });
});

test("with a store, a large value goes there and comes back, also to the next process", async () => {
  const { store, values } = aStore();
  await using t = await anEngine((database) => withStore(database, { store }));
  const run = await t.start(report, large);
  await t.untilIdle();
  t.crash();
  await t.advance("1 day");
  expect(await run.result()).toBe(large);
  expect(values.size).toBeGreaterThan(0);
});

test("with encryption upon it, the store sees no plaintext", async () => {
  const { store, values } = aStore();
  await using t = await anEngine((database) => withStore(encrypted(database, keys), { store }));
  const run = await t.start(report, large);
  await t.advance("1 day");
  expect(await run.result()).toBe(large);
  expect(values.size).toBeGreaterThan(0);
  for (const value of values.values()) expect(Buffer.from(value).includes("x".repeat(100))).toBe(false);
});

test("what a deleted run held is deleted from the store, by the process that comes next", async () => {
  const { store, values } = aStore();
  await using t = await anEngine((database) => withStore(database, { store }));
  const run = await t.start(report, large);
  await t.advance("1 day");
  await run.result();
  await t.client.delete(run.runId, { by: "ada" });
  t.crash();
  await t.advance("2 hours");
  await t.start(report, "small");
  await t.advance("1 day");
  expect(values.size).toBe(0);
});
