/**
 * Runs tests whenever it is asked to, in one process: vitest is loaded, and TypeScript read, once. Each run has a worker of
 * its own, so nothing that a test has read stays for the next run. Started by tests.ts, which sends filters of vitest and
 * is told what failed.
 */
import { BaseSequencer, createVitest, type TestSpecification } from "vitest/node";
import type { Failure } from "./tests.ts";

const failures: Failure[] = [];
/** When each file failed last, by the number of the run. */
const failedAt = new Map<string, number>();
const durations = new Map<string, number>();
let runs = 0;

/** What found out the last mutant goes first, for the next one is close to it; then what takes least. */
class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const number = (map: ReadonlyMap<string, number>, { moduleId }: TestSpecification) => map.get(moduleId) ?? 0;
    return files.toSorted(
      (one, other) =>
        number(failedAt, other) - number(failedAt, one) || number(durations, one) - number(durations, other),
    );
  }
}

const vitest = await createVitest({
  config: "test/vitest.config.ts",
  watch: false,
  bail: 1,
  maxWorkers: 1,
  isolate: false,
  sequence: { sequencer: Sequencer },
  reporters: [
    {
      onTestCaseResult(test) {
        const [error] = test.result().errors ?? [];
        if (error === undefined) return;
        fail(test.module, `× ${test.module.relativeModuleId} > ${test.fullName}: ${error.message}`);
      },
      onTestModuleEnd(module) {
        durations.set(module.moduleId, module.diagnostic().duration);
        const suites = [...module.children.allSuites()];
        const [error] = [module, ...suites].flatMap((one) => one.errors());
        if (error !== undefined) fail(module, `FAIL ${module.relativeModuleId}: ${error.message}`);
      },
    },
  ],
});

function fail(module: { readonly moduleId: string; readonly relativeModuleId: string }, why: string): void {
  failedAt.set(module.moduleId, runs);
  failures.push({ file: module.relativeModuleId, why });
}

async function run(filters: string[]): Promise<Failure | undefined> {
  runs += 1;
  failures.length = 0;
  const files = await vitest.globTestSpecifications(filters);
  if (files.length === 0) return undefined;
  const { unhandledErrors } = await vitest.runTestSpecifications(files);
  const [failure] = failures;
  if (failure !== undefined || unhandledErrors.length === 0) return failure;
  return { file: filters.join(" "), why: `Outside of any test: ${JSON.stringify(unhandledErrors[0])}` };
}

process.on("message", async (filters: string[]) => process.send?.({ failure: await run(filters) }));
process.once("disconnect", () => process.exit());
