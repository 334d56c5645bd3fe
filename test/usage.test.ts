/** `--help` of each program under test/ prints how to call it, and nothing begins. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = new URL("../", import.meta.url);
const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(new URL("package.json", root), "utf8"),
);
const programs = ["bench", "bench:million", "bench:aws", "bench:dashboard", "simulate", "mutate:sql"];
programs.push("idle", "again", "chaos", "demo");

test.each(programs)("npm run %s -- --help", async (name) => {
  const [program = ""] = /test\/\S+\.ts$/.exec(scripts[name] ?? "") ?? [];
  const args = ["--conditions=layover-source", program, "--help"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: fileURLToPath(root) });
  expect(stdout.split("\n").length).toBeGreaterThan(4);
  expect(readFileSync(new URL(program, root), "utf8").replaceAll(/^ \* ?/gm, "")).toContain(stdout.trim());
});
