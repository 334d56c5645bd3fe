/** A run that its process has forgotten is not kept in memory, whatever its handler has asked for. */
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { aHandler } from "./a-handler.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** A run whose handler has thrown, and whose other part asks for something that is never answered. */
async function unanswered(): Promise<WeakRef<object>> {
  const { execution, hand } = await aHandler((step) =>
    Promise.all([
      step.run("fails", () => 1).then(() => Promise.reject(new Error("no"))),
      step.run("slow", () => 1).then(() => step.run("more", () => 1)),
    ]),
  );
  await hand("fails");
  await hand("slow");
  expect([execution.outcome?.kind, execution.pending]).toEqual(["threw", []]);
  return new WeakRef(execution);
}

test("nothing is kept of a handler that asked for what is never answered, once its run is forgotten", async () => {
  const runs = await Promise.all(Array.from({ length: 20 }, unanswered));
  await setImmediate();
  collect();
  expect(runs.filter((run) => run.deref() !== undefined).length).toBeLessThan(3);
});
