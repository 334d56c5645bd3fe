/** Runs that have nothing to do: each is parked after its first turn, and waits for something else. */
import { workflow } from "layover";
import * as z from "zod";

/** Sleeps until an instant, which is given in epoch milliseconds. */
const sleeper = workflow({
  name: "sleeper",
  version: 1,
  input: z.object({ wakesAt: z.number() }),
}).handler(async ({ input, step, log }) => {
  await step.sleepUntil("night", input.wakesAt);
  await step.run("morning", () => log.info("awake"));
});

const listener = workflow({ name: "listener", version: 1, signals: { call: z.string() } }).handler(
  async ({ step }) => void (await step.waitForSignal("call")),
);

const asker = workflow({ name: "asker", version: 1, callbacks: { answer: z.string() } }).handler(
  async ({ step }) => void (await step.waitForCallback("answer", () => {}, { timeout: "3 days" })),
);

export const workflows = [sleeper, listener, asker];
