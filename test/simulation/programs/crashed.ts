/** A step fails unexecuted once five lone claims of it ended without a word. */
import type { Match } from "./prospects.ts";
import { like, type Thrown } from "./thrown.ts";

export const loneClaims = 5;

export const stepCrashed: Match<Thrown> = like({
  name: "StepError",
  cause: { name: "LayoverError", code: "step_crashed" },
});

/** How any step may end, after so many crashes. */
export function crashed(crashes: number): Match<Thrown> | undefined {
  return crashes >= loneClaims ? stepCrashed : undefined;
}
