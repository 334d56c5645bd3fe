/**
 * Runs a script so that it leaves nothing behind, however it ends.
 *
 * The script gets a process and a temporary folder of its own. This process outlives it, ends what it left running,
 * and removes the folder. The script alone could not do that: Miniflare removes its own folder without waiting for the
 * end of that, and exits at once when a signal comes. So the signals come to this process only, and the script is told
 * by the end of its input.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Runs the script with this process' arguments, and exits with the script's code. */
export async function runLeavingNothing(script: string): Promise<never> {
  let child: ChildProcess | undefined;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child?.stdin?.end());
  const folder = mkdtempSync(join(tmpdir(), "layover-room-"));
  chmodSync(folder, 0o755); // Postgres may run as somebody else
  child = spawn(process.execPath, [...process.execArgv, script, ...process.argv.slice(2)], {
    env: { LAYOVER_POSTGRES_COPIES: tmpdir(), ...process.env, TMPDIR: folder },
    stdio: ["pipe", "inherit", "inherit"],
    // A group of its own: Ctrl-C in a terminal does not reach it, and all of it can be ended.
    detached: true,
  });
  child.stdin?.on("error", () => {}); // the script is over already
  const { pid } = child;
  const [code] = await once(child, "exit");
  if (pid !== undefined) endGroup(pid);
  // A process that was just ended may still be writing for a moment.
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  process.exit(code ?? 1);
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // No process of the group is left.
  }
}

/** Calls `act` when the script is told to leave, or when the process that outlives it is gone. */
export function onLeave(act: () => void): void {
  process.stdin.once("end", act).resume();
}
