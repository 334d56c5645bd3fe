/** Gives a run of vitest a temporary folder of its own, and removes it with all that tests, or what they start, have left. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export default function setup(): () => void {
  const outside = tmpdir();
  const folder = mkdtempSync(join(outside, "layover-tests-"));
  chmodSync(folder, 0o755); // Postgres may run as somebody else
  process.env["LAYOVER_POSTGRES_COPIES"] ??= outside;
  process.env["TMPDIR"] = folder;
  // What the tests start is compiled once, and not by each process: that takes half of the time of a short command.
  process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "../node_modules/.cache/layover-tests");
  return () => {
    process.env["TMPDIR"] = outside;
    // Miniflare does not wait until what it kills has written its last.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  };
}
