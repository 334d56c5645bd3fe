import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** As a user of that runner would write it; it leaves the second engine open. */
function programFor(testRunner: string): string {
  return `
import assert from "node:assert/strict";
import { test } from "${testRunner}";
import { workflow } from "layover";
import { failing, testEngine } from "layover/testing";

const greet = workflow({ name: "greet", version: 1 });
const greetWorkflow = greet.handler(async ({ step }) => {
  await step.sleep("night", "8 hours");
  return await step.run("greet", () => "hello");
});

test("greets in the morning", async () => {
  for (const name of ["Ada", "Bob"]) {
    const t = await testEngine({ workflows: [greetWorkflow], stub: { greet: { greet: failing(1, () => name) } } });
    const run = await t.start(greet);
    await t.advance("9 hours");
    assert.equal(await run.result(), name);
    if (name === "Ada") await t.close();
  }
  assert.ok(!process.getActiveResourcesInfo?.().includes("Timeout"), "a timer holds the process");
});
`;
}

describe("the kit needs no vitest, and lets the process end", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "layover-runners-"));
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(root, join(folder, "node_modules/layover"), "junction");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("under node:test", () => {
    const { status, stdout, stderr } = run(process.execPath, "node.test.mjs", programFor("node:test"), ["--test"]);
    expect(stderr).toBe("");
    expect(stdout).toContain("greets in the morning");
    expect(stdout).not.toContain("vitest");
    expect(status).toBe(0);
  });

  it("under bun", () => {
    // The package's own `bun` waits for an install script; this is the binary that it would link.
    const [bun = "bun"] = globSync("node_modules/@oven/bun-*/bin/bun{,.exe}", { cwd: root });
    const { status, stdout, stderr } = run(join(root, bun), "bun.test.mjs", programFor("bun:test"), [
      "test",
      "--timeout=100000",
    ]);
    expect(`${stdout}${stderr}`).toContain("1 pass");
    expect(status).toBe(0);
  });

  function run(command: string, file: string, program: string, args: readonly string[]) {
    writeFileSync(join(folder, file), program);
    return spawnSync(command, ["--conditions=layover-source", ...args, `./${file}`], {
      cwd: folder,
      encoding: "utf8",
      timeout: 110_000,
    });
  }
});
