import { defineConfig } from "vitest/config";
import { chromiumFile } from "./chromium.ts";
import { TotalsReporter } from "./reporter.ts";
import { LongestFirst } from "./sequencer.ts";

/** Sources are tested, not `dist/`: this condition makes `import … from "layover"` mean `src/index.ts`. */
const conditions = ["layover-source", "node", "development|production"];

const hasChromium = chromiumFile() !== undefined;
if (!hasChromium)
  console.warn(
    "There is no Chromium, so the dashboard is not played in one. To have it played: apt-get install -y chromium",
  );

export default defineConfig({
  ssr: { resolve: { conditions } },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["**/node_modules/**", ...(hasChromium ? [] : ["test/**/*.chromium.test.ts"])],
    globalSetup: ["test/temporary-files.ts", "test/postgres/global-setup.ts", "test/pack/global-setup.ts"],
    setupFiles: ["test/setup.ts"],
    pool: "forks",
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    // Ends what hangs. A test takes minutes where two others have the machine's processors, so no test has a shorter limit of its own.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // What a test waits for comes at once, or late on a busy machine. A second, as by default, was too short there.
    expect: { poll: { timeout: 60_000 } },
    reporters: ["default", new TotalsReporter()],
  },
});
