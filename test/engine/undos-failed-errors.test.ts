/** The error of a run of which an undo failed: its code stays what it was, and its data tell of the undo. */
import { workflow } from "layover";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancelled, reason } from "./cancelling.ts";
import { play, type TestedStep } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

/** A step whose undo fails for good, with a code of its own. */
const book = (step: Pick<TestedStep, "run">) =>
  step.run("book", () => 1, {
    compensate: {
      run: () => {
        throw Object.assign(new Error("gone"), { code: "E_GONE" });
      },
      retry: { maxAttempts: 1 },
    },
  });
const compensation = { failed: [{ step: "book", error: { name: "Error", message: "gone", code: "E_GONE" } }] };

test("of a run that failed the code stays that of its own error, though an undo failed", async () => {
  const { view } = await play(database, async ({ step }) => {
    await book(step);
    throw Object.assign(new RangeError("declined"), { code: "E_DECLINED" });
  });
  expect(view).toMatchObject({
    status: "failed",
    error: { name: "RangeError", message: "declined", code: "E_DECLINED", data: { compensation } },
    undos: { owed: 1, done: 1, failed: 1 },
  });
});

test("of a run that timed out the code stays run_timeout, though an undo failed", async () => {
  const timed = workflow({ name: "timed", version: 1, timeout: "1 hour" });
  const handler = timed.handler(async ({ step }) => {
    await book(step);
    await step.sleep("nap", "1 day");
  });
  const world = await World.begin(database, { workflows: [handler] });
  const view = await world.run(await world.start(timed));
  expect(view).toMatchObject({ status: "failed", error: { code: "run_timeout", data: { compensation } } });
});

test("of a run that was cancelled the error stays the cancel, though an undo failed", async () => {
  const { world, run } = await cancelled(database, async ({ step }) => {
    await book(step);
    await step.sleep("nap", "1 day");
  });
  expect(await world.run(run)).toMatchObject({
    status: "cancelled",
    error: { name: "CancelledError", message: `the run was cancelled: ${reason}`, data: { compensation } },
  });
});
