import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith("layover-demo-"));

async function demo(interruptedAt?: RegExp): Promise<{ output: string; code: number | null }> {
  const child = spawn(process.execPath, ["--conditions=layover-source", join(import.meta.dirname, "demo.ts")], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (interruptedAt?.test(output)) child.kill("SIGINT");
    });
  }
  await once(child, "close");
  return { output, code: child.exitCode };
}

test("the demo ends as it is told, and leaves nothing behind", { timeout: 90_000 }, async () => {
  const before = folders();
  const { output, code } = await demo();
  expect(output).toMatch(/charge +asked 2 times, done 1 time\n/);
  expect(output).toContain("nothing was lost, nothing was done twice");
  expect(code).toBe(0);
  expect(folders()).toEqual(before);
});

test.each([
  ["while a server starts", /layover dev/],
  ["while a server runs", /charge: the payment/],
])("the demo that is interrupted %s leaves nothing behind", { timeout: 60_000 }, async (_, when) => {
  const before = folders();
  const { output, code } = await demo(when);
  expect(output).not.toContain("not as told");
  expect(code).toBe(130);
  expect(folders()).toEqual(before);
});
