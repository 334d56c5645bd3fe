/** A step fails unexecuted once five that had begun it alone ended without a word. */
import type { Match } from "./prospects.ts";
import { like, type Thrown } from "./thrown.ts";

export const mostBeginnings = 5;

export const stepCrashed: Match<Thrown> = like({
  name: "StepError",
  cause: { name: "LayoverError", code: "step_crashed" },
});

/** How any step may end, once so many had begun it alone. */
export function crashed(beginnings: number): Match<Thrown> | undefined {
  return beginnings >= mostBeginnings ? stepCrashed : undefined;
}
