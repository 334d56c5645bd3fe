/**
 * Keeps a folder to one process. Node has no lock that the kernel would take back, so a lock is a file that names
 * its process, and counts only while that process lives.
 *
 * Each taker makes the file with the next number, and the highest number counts. So taking over from the dead never
 * removes what somebody else has just made, which is where renaming and deleting schemes go wrong.
 */
import { execFileSync } from "node:child_process";
import { linkSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "./setup-error.ts";

export interface FolderLock {
  release(): void;
}

/** @throws SetupError `folder_in_use` */
export function lockFolder(folder: string): FolderLock {
  const draft = join(folder, `lock-draft-${process.pid}-${Math.random().toString(36).slice(2)}`);
  writeFileSync(draft, `${process.pid} ${bornAt(process.pid)}`);
  try {
    for (;;) {
      const held = highest(folder);
      const holder = readHolder(join(folder, `lock-${held}`));
      if (holder !== undefined && isAlive(holder)) throw inUse(folder, holder.pid);
      const mine = held + 1;
      const file = join(folder, `lock-${mine}`);
      if (!link(draft, file)) continue;
      // Somebody may have been slow enough to make a number again that came and went meanwhile.
      if (highest(folder) !== mine) rmSync(file, { force: true });
      else {
        for (const number of numbers(folder))
          if (number < mine) rmSync(join(folder, `lock-${number}`), { force: true });
        // Emptied, not removed: numbers never start again.
        return { release: () => truncateSync(file) };
      }
    }
  } finally {
    rmSync(draft);
  }
}

function numbers(folder: string): number[] {
  return readdirSync(folder).flatMap((name) => {
    const number = /^lock-(\d+)$/.exec(name)?.[1];
    return number === undefined ? [] : [Number(number)];
  });
}

function highest(folder: string): number {
  return Math.max(0, ...numbers(folder));
}

/** Makes the file with its content, or not at all. */
function link(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

interface Holder {
  readonly pid: number;
  readonly bornAt: string;
}

/** Reads who holds the lock. Undefined: it was released, or is gone. */
function readHolder(file: string): Holder | undefined {
  try {
    const [, pid, bornAt] = /^(\d+) (.*)$/s.exec(readFileSync(file, "utf8")) ?? [];
    return pid === undefined || bornAt === undefined ? undefined : { pid: Number(pid), bornAt };
  } catch {
    return undefined;
  }
}

function isAlive({ pid, bornAt: born }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
  }
  return born === bornAt(pid);
}

/** Numbers of processes are given again, in a container even the same ones: a process is its number and its birth. */
function bornAt(pid: number): string {
  try {
    if (process.platform === "linux") {
      // https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: fields 3 (state) and 22 (start), after the name.
      const [state, ...fields] = readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
      return state === "Z" ? "dead" : `${boot}/${fields[18]}`;
    }
    if (process.platform === "win32") return "";
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim();
  } catch {
    return "dead";
  }
}

function inUse(folder: string, pid: number): SetupError {
  const who = pid === process.pid ? "This process" : `The process ${pid}`;
  return new SetupError("folder_in_use", `${who} has the data folder ${folder} open.`, {
    hint: "Only one can at a time: end the other one, or use another folder.",
  });
}
