/** What the token of a callback holds: the question, and how long it opens the callback. */
import { expect, test } from "vitest";
import type { Step } from "../../../src/core/contract/step.ts";
import { aHandler } from "./a-handler.ts";

const beganAt = Date.UTC(2026, 0, 1);
const dayMs = 86_400_000;

async function daysOf(handle: (step: Step) => Promise<unknown>): Promise<readonly number[]> {
  const { sealed } = await aHandler(handle);
  return sealed.map(({ endsAt }) => (endsAt - beganAt) / dayMs);
}

test("a token ends a month after the deadline of its wait", async () => {
  expect(await daysOf((step) => step.waitForCallback("approval", () => {}, { timeout: "7 days" }))).toEqual([37]);
  expect(await daysOf((step) => step.waitForCallback("approval", () => {}, { timeout: "3000 days" }))).toEqual([3030]);
});

test("a token ends after a year where no deadline is known when it is made", async () => {
  expect(await daysOf((step) => step.waitForCallback("approval", () => {}))).toEqual([365]);
  expect(await daysOf(async (step) => step.createCallback("approval").wait({ timeout: "7 days" }))).toEqual([365]);
});

test("a token ends by the time of the last record, so it is the same at each replay", async () => {
  const { sealed, hand } = await aHandler(async (step) => {
    await step.sleep("nap", "2s");
    await step.waitForCallback("approval", () => {}, { timeout: "1 day" });
  });
  await hand("nap");
  expect(sealed).toEqual([{ path: "approval", endsAt: beganAt + 1_000 + 31 * dayMs }]);
});

test.each<[string, (step: Step) => Promise<unknown>]>([
  ["createCallback", async (step) => step.createCallback("approval", { title: "Refund?", text: "An order" }).wait()],
  ["waitForCallback", (step) => step.waitForCallback("approval", () => {}, { title: "Refund?", text: "An order" })],
])("a token has the title and the text that %s was given", async (_, handle) => {
  const { sealed } = await aHandler(handle);
  expect(sealed).toMatchObject([{ title: "Refund?", text: "An order" }]);
});
