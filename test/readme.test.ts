/** Whatever the README has its reader type is there: test/pack types it, and the rest are scripts of this repository. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { blocksIn, commandsIn, readme, typed } from "./readme-blocks.ts";

const Package = z.object({ scripts: z.record(z.string(), z.string()) });
const { scripts } = Package.parse(JSON.parse(readFileSync("package.json", "utf8")));

/** Where nothing is but this repository. */
const own = blocksIn("sh")
  .filter((block) => !typed.some((text) => block.includes(text)))
  .flatMap(commandsIn);

/** What stands within a sentence. */
const inline = [...readme.replace(/^```.*?^```$/gms, "").matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

/** The file that a script runs, and what stands in its first lines. */
function headOf(script: string): string {
  const [file = ""] = /\S+\.ts$/.exec(scripts[script] ?? "") ?? [];
  return readFileSync(file, "utf8").split(" */")[0] ?? "";
}

test("the README has at most 150 lines", () => {
  expect(readFileSync("README.md", "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(150);
});

describe("the README's commands", () => {
  test.each(typed)("are typed by a test, in the one block with: %s", (text) => {
    expect(blocksIn("sh").filter((block) => block.includes(text))).toHaveLength(1);
  });

  test("otherwise are this repository's scripts, with flags that their files tell of", () => {
    expect(own.length).toBeGreaterThan(5);
    for (const command of own) {
      const [, script, flags = ""] = /^npm (?:run )?([\w:]+)(?: -- (.+))?$/.exec(command) ?? [];
      expect(script === "ci" || Object.hasOwn(scripts, script ?? ""), `no test knows: ${command}`).toBe(true);
      for (const flag of flags.match(/--\w+/g) ?? []) expect(headOf(script ?? ""), command).toContain(flag);
    }
  });

  test("within sentences are scripts, of this repository or of a project's, and commands that layover has", () => {
    const named = inline.flatMap((code) => /^npm run ([\w:]+)$/.exec(code)?.[1] ?? []);
    expect(named.filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
    const verbs = inline.flatMap((code) => /^(?:npx )?layover (\w+)/.exec(code)?.[1] ?? []);
    expect(verbs).toContain("doctor");
    expect(verbs.filter((verb) => globSync(`src/cli/**/${verb}.ts`).length === 0)).toEqual([]);
  });
});
