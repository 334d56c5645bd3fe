/** A handler of so many steps in a row, which answers the sum of their numbers. */
import type { TestedContext } from "./playing.ts";

export const steps =
  (count: number) =>
  async ({ step }: TestedContext) => {
    let sum = 0;
    for (let number = 1; number <= count; number += 1) sum += await step.run("it", () => number);
    return sum;
  };
