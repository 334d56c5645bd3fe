/**
 * The order in which the files begin: those first that take longest, or one of the two workers would be left with one of
 * them while the other has nothing to do. A clean checkout knows no times, and vitest would go by the sizes of files.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What takes longer than half a minute, the longest first. */
const longest = [
  "platform/mixed/releases",
  "demo/demo",
  "platform/mixed/moving",
  "platform/processes",
  "aws/deployed",
  "pack/readme",
  "simulation/simulation",
  "http/dashboard/chromium/play.chromium",
  "platform/mixed/deaths",
  "crash/undo",
  "pack/init-fetch",
  "chaos/deadlocks",
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
