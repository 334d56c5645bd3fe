/** The command `layover` as a process of its own, as a person has it in a terminal of 100 columns; or a program. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { Secrets } from "../../src/http/secrets.ts";

export const secret = "bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g";
export const secrets = new Secrets([secret]);

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = join(root, "src/cli/main.ts");

export interface Said {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  /** Its whole environment, beside what any process needs. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: an empty folder. */
  readonly folder?: string;
  readonly stdin?: string;
}

/** How to begin that process, for a test that does more with it than to wait for its end. */
export function commandLine(args: readonly string[], { env, folder }: Surroundings = {}) {
  return {
    command: process.execPath,
    args: ["--conditions=layover-source", main, ...args],
    options: {
      cwd: folder ?? aFolder(),
      env: { ...passedOn(["PATH", "NODE_COMPILE_CACHE"]), TZ: "UTC", COLUMNS: "100", ...env },
    },
  };
}

function passedOn(names: readonly string[]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}

export async function layover(args: readonly string[], surroundings: Surroundings = {}): Promise<Said> {
  const { command, args: all, options } = commandLine(args, surroundings);
  const child = spawn(command, all, options);
  const { stdin = "" } = surroundings;
  child.stdin.end(stdin);
  const status = new Promise<number | null>((resolve) => child.on("close", resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { status: await status, stdout, stderr };
}

/** Gone after the test. */
export function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "layover-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
