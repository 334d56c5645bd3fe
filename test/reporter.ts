/** Closes the output of the tests with `N passed, N failed, N skipped`, alone on the last line: what the CI reads. */
import type { Reporter, SerializedError, TestModule } from "vitest/node";

export class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const line = totals(modules, unhandledErrors);
    // Whatever tears the run down (a global setup, a slow worker) may still have something to say.
    process.once("exit", () => process.stdout.write(`${line}\n`));
  }
}

/** A file that could not be loaded and an error outside of any test count as failures, or a broken run would look green. */
function totals(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): string {
  const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
  for (const module of modules) {
    count.failed += module.errors().length;
    for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      count[state === "pending" ? "skipped" : state] += 1;
    }
  }
  return `${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`;
}
