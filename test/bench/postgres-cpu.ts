/**
 * The CPU time that a Postgres server has used: user and system time of the postmaster and all of its
 * children, those that have ended included. Backends, checkpointer, WAL writer and autovacuum all count.
 */

import { readdir, readFile } from "node:fs/promises";

const TICKS_PER_SECOND = 100; // USER_HZ, which Linux fixes for /proc on every platform that Node runs on

/** Reads the server's CPU time so far, in microseconds. Undefined where there is no /proc, as on macOS. */
export async function readPostgresCpu(postmaster: number): Promise<number | undefined> {
  const names = await readdir("/proc").catch(() => undefined);
  if (names === undefined) return undefined;
  const pids = names.filter((name) => /^\d+$/.test(name));
  const processes = await Promise.all(pids.map(readProcess));
  const ticks = processes.reduce((sum, process) => {
    if (process?.pid === postmaster) return sum + process.ownTicks + process.endedChildrenTicks;
    return process?.parent === postmaster ? sum + process.ownTicks : sum;
  }, 0);
  return (ticks / TICKS_PER_SECOND) * 1_000_000;
}

/** Reads /proc/[pid]/stat (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html). */
async function readProcess(pid: string) {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" "); // from the third, the state, on
  const field = (number: number) => Number(fields[number - 3]);
  return {
    pid: Number(pid),
    parent: field(4),
    ownTicks: field(14) + field(15),
    endedChildrenTicks: field(16) + field(17),
  };
}
