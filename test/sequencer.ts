/**
 * The order in which the files begin: those first that take longest, or one of the two workers would be left with one of
 * them while the other has nothing to do. A clean checkout knows no times, and vitest would go by the sizes of files.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What takes longer than half a minute, the longest first. */
const longest = [
  "simulation/simulation",
  "crash/undo",
  "model/model",
  "platform/processes",
  "platform/large-histories",
  "crash/cancel",
  "engine/programs",
  "crash/family",
  "crash/repair",
  "crash/nested",
  "crash/order",
  "crash/at-most-once",
  "platform/dev",
].map((name) => `/test/${name}.test.ts`);

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const index = longest.findIndex((file) => moduleId.endsWith(file));
  return index === -1 ? longest.length : index;
}
