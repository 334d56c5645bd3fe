/** What the tests of changes of code share: steps that tell that they were carried out, and options of a world. */
import type { TestedStep } from "./playing.ts";

/** Tells which steps were carried out, in order. */
export function steps() {
  const done: string[] = [];
  const act = async (step: TestedStep, name: string) => await step.run(name, () => void done.push(name));
  return { done, act };
}

/** Has the run go through a process that has not seen it yet. */
export const others = { warmRuns: 0 };
