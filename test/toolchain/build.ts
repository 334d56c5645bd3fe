/**
 * Fills `dist/` from `src/`: JavaScript and declarations by tsc, and every other file (SQL, pages) as it is. Then tells how
 * large a Worker becomes with it, and fails if that is too much; and how long a step takes on the local workerd.
 *
 *   --unmeasured   leaves that out
 */
import { spawnSync } from "node:child_process";
import { cpSync, rmSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { findPostgres } from "../postgres/find.ts";
import { bundleSize, describeSize, excess } from "./bundle-size.ts";
import { hopReport } from "./hop-report.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
process.chdir(root);

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("tsc", ["--project", "test/toolchain/tsconfig.build.json"], { stdio: "inherit" });
if (status !== 0) process.exit(1);

cpSync("src", "dist", {
  recursive: true,
  filter: (file) => statSync(file).isDirectory() || !/\.(tsx?|md)$/.test(file),
});

const size = await bundleSize();
console.log(describeSize(size));
const tooMuch = excess(size);
if (tooMuch !== undefined) {
  console.error(tooMuch);
  process.exit(1);
}

if (!process.argv.includes("--unmeasured")) console.log(await hopReport(() => findPostgres("18")));
