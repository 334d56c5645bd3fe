import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

function layover(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ["--conditions=layover-source", "src/cli/main.ts", ...args], { encoding: "utf8" });
}

test.each([[[]], [["help"]], [["--help"]], [["dev", "-h"]]])("the command shows its usage for: layover %j", (args) => {
  const { status, stdout, stderr } = layover(...args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toContain("dev [MODULE] [--port 3000] [--data .layover/data]");
});

test.each([
  [["deploy"], 'There is no command "deploy".\nThe commands are: dev.\n'],
  [
    ["dev", "nowhere.ts"],
    `There is no nowhere.ts in ${process.cwd()}.\nName the module that exports your workflows: layover dev src/workflows.ts\n`,
  ],
])("the command says in two lines what is wrong with: layover %j", (args, stderr) => {
  expect(layover(...args)).toMatchObject({ status: 1, stdout: "", stderr });
});
