/**
 * Runs a file of tests whenever it is asked to, on each of several databases' templates: vitest is loaded, and TypeScript
 * read, once. The modules that the tests import stay from one template to the next, and the file itself is another module
 * each time. Started by tests.ts, which sends what to run and is told what became of each.
 */
import { BaseSequencer, createVitest, type TestModule, type TestSpecification } from "vitest/node";
import type { Asked, Told } from "./tests.ts";

/** Leaves files in the order in which they were asked for. */
class AsGiven extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files;
  }
}

const vitest = await createVitest({
  config: "test/vitest.config.ts",
  watch: false,
  maxWorkers: 1,
  isolate: false,
  setupFiles: ["test/setup.ts", "test/mutation/test-setup.ts"],
  sequence: { sequencer: AsGiven },
  reporters: [
    {
      onTestModuleEnd(module) {
        const why = whyFailed(module);
        tell({ template: templateOf(module.moduleId), ...(why !== undefined && { why }) });
      },
    },
  ],
});

function whyFailed(module: TestModule): string | undefined {
  const tests = [...module.children.allTests("failed")];
  const [failed] = tests;
  if (failed !== undefined) return `× ${failed.fullName}: ${failed.result().errors?.[0]?.message ?? ""}`;
  const [error] = [module, ...module.children.allSuites()].flatMap((one) => one.errors());
  return error?.message;
}

function templateOf(moduleId: string): string {
  return new URLSearchParams(moduleId.split("?")[1]).get("template") ?? "";
}

function tell(told: Told): void {
  process.send?.(told);
}

async function answer(asked: Asked): Promise<void> {
  if ("filters" in asked) {
    const found = asked.filters.length === 0 ? [] : await vitest.globTestSpecifications([...asked.filters]);
    tell({ files: found.map(({ moduleId }) => moduleId) });
    return;
  }
  const { file, templates } = asked;
  const files = templates.map((template, index) => {
    const isLast = index === templates.length - 1;
    return vitest.getRootProject().createSpecification(`${file}?template=${template}${isLast ? "&last" : ""}`);
  });
  const { unhandledErrors } = await vitest.runTestSpecifications(files);
  tell({ unhandled: unhandledErrors.map((error) => JSON.stringify(error)) });
}

process.on("message", (asked: Asked) => void answer(asked));
process.once("disconnect", () => process.exit());
