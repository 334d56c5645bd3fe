/** Two versions of a workflow, of which the second takes less, and asks for something else where the load is odd. */
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";

export const first = workflow({
  name: "trip",
  version: 1,
  input: z.object({ load: z.enum(["plain", "odd", "old"]) }),
  output: z.string(),
  signals: { gate: z.string(), go: z.string() },
  callbacks: { pass: z.boolean() },
  sensitive: ["input", "signals.go"],
});

const second = workflow({
  name: "trip",
  version: 2,
  input: z.object({ load: z.enum(["plain", "odd"]) }),
  output: z.string(),
  signals: { gate: z.string(), go: z.string().min(3) },
  callbacks: { pass: z.boolean() },
  sensitive: ["input", "signals.go"],
});

export const firstWorkflow = first.handler(async ({ step }) => {
  await step.run("pack", () => {});
  const gate = await step.waitForSignal("gate");
  const go = await step.waitForSignal("go");
  await step.run("drive", () => {});
  return `1 ${gate} ${go}`;
});

export const secondWorkflow = second.handler(async ({ input, step }) => {
  if (input.load === "odd") await step.run("unpack", () => {});
  await step.run("pack", () => {});
  const gate = await step.waitForSignal("gate");
  const go = await step.waitForSignal("go");
  await step.run("drive", () => {});
  return `2 ${gate} ${go}`;
});
