import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

interface Told {
  readonly output: string;
  readonly code: number | null;
  /** What it has left among the temporary files. */
  readonly left: readonly string[];
}

async function demo(args: readonly string[], interruptedAt?: RegExp): Promise<Told> {
  const folder = mkdtempSync(join(tmpdir(), "layover-demo-test-"));
  chmodSync(folder, 0o755); // Postgres may run as somebody else
  try {
    const main = join(import.meta.dirname, "demo.ts");
    const child = spawn(process.execPath, ["--conditions=layover-source", main, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, TMPDIR: folder },
    });
    onTestFinished(() => void child.kill("SIGTERM"));
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (interruptedAt?.test(output)) child.kill("SIGINT");
      });
    }
    await once(child, "close");
    // Binaries of Postgres are kept for the next time, where it may not run those of the checkout.
    const left = readdirSync(folder).filter((name) => !name.endsWith("-binaries"));
    return { output, code: child.exitCode, left };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test.each([
  ["node", []],
  ["cloudflare", ["--on", "cloudflare"]],
  ["aws", ["--on", "aws"]],
])("the demo on %s ends as it is told, and leaves nothing behind", async (_, args) => {
  const { output, code, left } = await demo(args);
  expect(output).toMatch(/charge +asked 2 times, done 1 time\n/);
  expect(output).toContain("nothing was lost, nothing was done twice");
  expect([code, left]).toEqual([0, []]);
});

test.each([
  ["node", []],
  ["cloudflare", ["--on", "cloudflare"]],
  ["aws", ["--on", "aws"]],
])("a refund whose server is killed on %s is done once", async (_, args) => {
  const { output, code, left } = await demo(["--saga", ...args]);
  expect(output).toMatch(/charge +asked 1 time, done 1 time\n +refund +asked 2 times, done 1 time\n/);
  expect(output).toContain("what was charged once was refunded once");
  expect([code, left]).toEqual([0, []]);
});

test.each([
  ["on node while a server starts", [], /layover dev/],
  ["on node while a server runs", [], /charge: the payment/],
  ["on cloudflare while Postgres starts", ["--on", "cloudflare"], /layover migrate/],
  ["on cloudflare while a Worker runs", ["--on", "cloudflare"], /charge: the payment/],
])("the demo that is interrupted %s leaves nothing behind", async (_, args, when) => {
  const { output, code, left } = await demo(args, when);
  expect(output).not.toContain("not as told");
  expect([code, left]).toEqual([130, []]);
});

test.each([
  [["--on", "azure"], '--on takes node or cloudflare or aws, not "azure".'],
  [["--at", "once"], "It takes --on and --saga."],
])("the demo that is told %j says what it takes", async (args, sentence) => {
  const { output, code } = await demo(args);
  expect(output).toContain(sentence);
  expect(code).toBe(1);
});
