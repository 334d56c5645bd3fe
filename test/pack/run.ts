/** Runs a command to its end. What it wrote is in the error if it fails. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Answers what it wrote to stdout. */
export async function run(command: string, args: readonly string[], options: RunOptions): Promise<string> {
  const { code, stdout, stderr } = await end(command, args, options);
  if (code === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")} ended with ${code} in ${options.cwd}:\n${stdout}${stderr}`);
}

/** However it ends. */
export async function end(command: string, args: readonly string[], { cwd, env }: RunOptions): Promise<Ended> {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32", // npm is a script there
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, stdout, stderr };
}
