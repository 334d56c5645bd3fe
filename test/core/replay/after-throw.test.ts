/** A handler that has thrown amid a cleanup of another part of it, over its history. */
import { expect, test } from "vitest";
import type { Step } from "../../../src/core/contract/step.ts";
import { afterThrow } from "../../../src/core/replay/closing.ts";
import { aHandler } from "./a-handler.ts";

const idle = async () => {};
const cleanUp = (step: Step, name: string) => step.cleanup(name, ({ step }) => step.run("unlock", idle));

/** A part that cleans up, one that throws, and one that cleans up after a step that is at work. */
const threeParts = (step: Step) =>
  Promise.all([
    cleanUp(step, "first"),
    step.sleep("nap", "1h").then(() => Promise.reject(new Error("no"))),
    (async () => {
      try {
        await step.run("slow", idle);
      } finally {
        await cleanUp(step, "late");
      }
    })(),
  ]);

test.each([
  ["begins another cleanup while the first one is under way", ["slow"], ["first/unlock", "late/unlock"]],
  ["begins none once the last one under way is over", ["first/unlock", "slow"], []],
] as const)("a handler that has thrown amid a cleanup %s", async (_, order, places) => {
  const handled = await aHandler(threeParts);
  await handled.hand("nap");
  const { execution } = handled;
  const at = { occurrence: 1, recordedAt: execution.now, attempts: 1 };
  await execution.hand({ ...at, kind: "closing", path: "", isFailure: true, value: afterThrow });
  for (const path of order) await execution.hand({ ...at, kind: "step", path, isFailure: false, value: "0null" });
  expect([handled.places(), execution.isOver, execution.divergence]).toEqual([places, places.length === 0, undefined]);
});
