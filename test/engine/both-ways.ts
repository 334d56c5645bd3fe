/** Two ways to call `step.run`: alone, and as a branch beside another. A step must behave alike in both. */
import type { StepContext, StepOptions } from "layover";
import type { TestedStep } from "./playing.ts";

type Body = (context: StepContext) => unknown;
const alone = (step: TestedStep, body: Body, options?: StepOptions) => step.run("it", body, options);
const beside = async (step: TestedStep, body: Body, options?: StepOptions) => {
  const [result] = await Promise.all([step.run("it", body, options), step.run("beside", () => 0)]);
  return result;
};

export const bothWays: [way: string, runIt: typeof alone][] = [
  ["alone", alone],
  ["beside another", beside],
];
