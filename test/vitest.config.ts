import { defineConfig } from "vitest/config";
import { TotalsReporter } from "./reporter.ts";

/** Sources are tested, not `dist/`: this condition makes `import … from "layover"` mean `src/index.ts`. */
const conditions = ["layover-source", "node", "development|production"];

export default defineConfig({
  ssr: { resolve: { conditions } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/temporary-files.ts", "test/postgres/global-setup.ts", "test/pack/global-setup.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ["default", new TotalsReporter()],
  },
});
