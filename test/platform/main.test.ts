import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

function layover(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ["--conditions=layover-source", "src/cli/main.ts", ...args], { encoding: "utf8" });
}

test.each([[[]], [["dev", "--help"]]])("the command shows its usage for: layover %j", (args) => {
  const { status, stdout, stderr } = layover(...args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toContain("dev [MODULE] [--port 3000] [--data .layover/data]");
});

test("the command says in two lines what is wrong", () => {
  const stderr = 'There is no command "deploy".\nThe commands are: dev.\n';
  expect(layover("deploy", "now")).toMatchObject({ status: 1, stdout: "", stderr });
});
