import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";

const module = JSON.stringify(join(import.meta.dirname, "leaving-nothing.ts"));

/** Leaves a folder, and a process that goes on writing into it. */
const messy = `
  import { spawn, spawnSync } from "node:child_process";
  import { mkdtempSync } from "node:fs";
  import { tmpdir } from "node:os";
  import { join } from "node:path";
  const folder = mkdtempSync(join(tmpdir(), "mess-"));
  const writes = "const { writeFileSync } = require('node:fs'); let n = 0; setInterval(() => writeFileSync(process.argv[1] + '/' + n++, ''), 1); console.log(process.pid)";
  const writer = spawn(process.execPath, ["-e", writes, folder], { stdio: ["ignore", "pipe", "inherit"] });
  writer.stdout.once("data", (pid) => process.stdout.write(\`writer \${pid}\`));
`;

interface Ended {
  readonly code: number | null;
  /** What it has left among the temporary files. */
  readonly left: readonly string[];
  readonly writer: number;
}

/** Runs the script to its end, or until it is interrupted once its writer writes. */
async function end(script: string, signal?: NodeJS.Signals): Promise<Ended> {
  const folder = mkdtempSync(join(tmpdir(), "layover-leaving-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const temporary = join(folder, "temporary");
  mkdirSync(temporary);
  const [main, played] = [join(folder, "main.mjs"), join(folder, "script.mjs")];
  writeFileSync(
    main,
    `import { runLeavingNothing } from ${module}; await runLeavingNothing(${JSON.stringify(played)});`,
  );
  writeFileSync(played, script);
  const child = spawn(process.execPath, [main], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (signal !== undefined) child.stdout.once("data", () => child.kill(signal));
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { code: child.exitCode, left: readdirSync(temporary), writer: Number(/writer (\d+)/.exec(output)?.[1]) };
}

/** One that is dead and that nobody has asked about is there for `kill`, but runs no more. */
function isRunning(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return stdout.trim() !== "" && !stdout.startsWith("Z");
}

test.each([
  ["ends by itself", `${messy} writer.stdout.once("data", () => process.exit(3));`, undefined, 3],
  ["is killed", `${messy} writer.stdout.once("data", () => process.kill(process.pid, "SIGKILL"));`, undefined, 1],
  ["is interrupted", `import { onLeave } from ${module}; onLeave(() => process.exit(130)); ${messy}`, "SIGINT", 130],
  ["is terminated", `import { onLeave } from ${module}; onLeave(() => process.exit(130)); ${messy}`, "SIGTERM", 130],
] as const)("a script that %s leaves neither files nor processes", async (_, script, signal, code) => {
  const ended = await end(script, signal);
  expect(ended).toEqual({ code, left: [], writer: expect.any(Number) });
  await expect.poll(() => isRunning(ended.writer)).toBe(false);
});
