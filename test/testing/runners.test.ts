import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** As a user of node:test would write it; it leaves the second engine open. */
const program = `
import assert from "node:assert/strict";
import { test } from "node:test";
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
});
`;

describe("the kit", () => {
  it("needs no vitest, and lets the process end", { timeout: 120_000 }, () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["--conditions=layover-source", "--input-type=module", "--eval", program],
      { cwd: root, encoding: "utf8", timeout: 110_000 },
    );
    expect(stderr).toBe("");
    expect(stdout).toContain("greets in the morning");
    expect(stdout).not.toContain("vitest");
    expect(status).toBe(0);
  });
});
