/** Runs test files once, with a seed, in a process of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { relative } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { z } from "zod";

export interface Failure {
  readonly file: string;
  readonly name: string;
  readonly why: string;
}

export interface Played {
  readonly tests: number;
  readonly failed: readonly Failure[];
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const Report = z.object({
  numTotalTests: z.number(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({ fullName: z.string(), status: z.string(), failureMessages: z.array(z.string()).nullish() }),
      ),
    }),
  ),
});

export async function play(files: readonly string[], seed: number): Promise<Played> {
  const folder = mkdtempSync(join(tmpdir(), "layover-again-"));
  const report = join(folder, "report.json");
  const config = ["--config", "test/vitest.config.ts", "--reporter=json", `--outputFile=${report}`];
  try {
    const vitest = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...config, ...files], {
      cwd: root,
      env: { ...process.env, TEST_SEED: String(seed) },
      stdio: ["ignore", "ignore", "inherit"],
    });
    const [code] = await once(vitest, "close");
    const played = playedOf(Report.parse(JSON.parse(readFileSync(report, "utf8"))));
    // A failure outside of any test stands in no file's results.
    if (code === 0 || played.failed.length > 0) return played;
    return { ...played, failed: [{ file: files.join(" "), name: "", why: `vitest ended with ${code}` }] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function playedOf({ numTotalTests, testResults }: z.infer<typeof Report>): Played {
  const failed = testResults.flatMap(({ name, status, message = "", assertionResults }) => {
    const file = relative(root, name);
    const tests = assertionResults.filter((test) => test.status === "failed");
    if (tests.length === 0 && status === "failed") return [{ file, name: "", why: firstLine(message) }];
    return tests.map(({ fullName, failureMessages }) => {
      return { file, name: fullName, why: firstLine(failureMessages?.[0] ?? "") };
    });
  });
  return { tests: numTotalTests, failed };
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
