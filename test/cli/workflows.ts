/** What a person may have deployed: a workflow that comes by everything that `layover show` tells. */
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";

const order = workflow({
  name: "order",
  version: 1,
  input: z.object({ amount: z.number() }),
  signals: { address: z.object({ city: z.string() }) },
});

/** Its card is declined once, and any amount over 1,000 is refused. */
export const orderWorkflow = order.handler(async ({ input, step }) => {
  await step.run("charge", ({ attempt }) => charge(attempt), { retry: { delay: "1ms", jitter: false } });
  await step.run("limit", () => refuse(input.amount > 1_000), { retry: { maxAttempts: 1 } });
  await step.waitForSignal("address", { timeout: "3 days" });
});

function charge(attempt: number): { id: string } {
  if (attempt > 1) return { id: "ch_1" };
  throw new Error("the card was declined", { cause: new Error("402 Payment Required") });
}

function refuse(isTooMuch: boolean): void {
  if (isTooMuch) throw new Error("too much for this customer");
}

/** The same contract, deployed with another handler: it fits no run that began before. */
export const changedOrderWorkflow = order.handler(async ({ step }) => {
  await step.run("look into the stock", () => true);
});

/** The same contract again, whose handler awaits what never comes. */
export const stuckOrderWorkflow = order.handler(() => new Promise(() => {}));

const trip = workflow({ name: "trip", version: 1 });

/** There is no car. The flight is given back, the hotel is closed. */
export const tripWorkflow = trip.handler(async ({ step }) => {
  await step.run("flight", () => "f1", { compensate: () => "free" });
  await step.run("hotel", () => "h1", { compensate: { run: refuseToUndo, retry: { maxAttempts: 1 } } });
  throw new Error("there is no car");
});

const stay = workflow({ name: "stay", version: 1 });

/** The undo of its step is tried again for a day, in vain. */
export const stayWorkflow = stay.handler(async ({ step }) => {
  await step.run("hotel", () => "h1", { compensate: refuseToUndo });
  throw new Error("there is no flight");
});

function refuseToUndo(): never {
  throw new Error("the hotel is closed");
}

const nap = workflow({ name: "nap", version: 1, signals: { wake: z.null() } });
const shopNap = workflow({ name: "shop/nap", version: 1, signals: { wake: z.null() } });
export const napWorkflow = nap.handler(async ({ step }) => {
  await step.sleep("long", "2h 5m");
});
export const shopNapWorkflow = shopNap.handler(async ({ step }) => {
  await step.sleep("long", "2h 5m");
});
