/** `step.patched`: the code has changed here. A run that began with this code takes the new path, in each replay. */
import { crashed } from "./crashed.ts";
import { markOf, type Program, type Verb } from "./part.ts";
import { eitherOf, exactly } from "./prospects.ts";
import { names } from "./step.ts";

export function changed(name: string): Program {
  return {
    kind: "patched",
    parts: [],
    play: async ({ step, runId, at, world, isCleanup }) => {
      const path = step.patched(name) ? "new" : "old";
      return await step.run(path, ({ idempotencyKey }) => {
        world.onBody(runId, idempotencyKey, isCleanup);
        return markOf(path, at);
      });
    },
    // A turn that ended while the handler was adrift may have been here, for all that the run knows.
    prospects: ({ at, facts, mayDrift }) => {
      const paths = mayDrift ? ["new", "old"] : ["new"];
      const throws = crashed(facts.beginnings ?? 0);
      return { returns: eitherOf(paths.map((path) => exactly(markOf(path, at)))), throws, mayHang: false };
    },
    inWords: (at) => `await step.run(step.patched("${name}") ? "new" : "old", () => "${markOf("…", at)}")`,
  };
}

export const patched: Verb = { weight: 1, arbitrary: () => names.map(changed), orderly: () => names.map(changed) };
