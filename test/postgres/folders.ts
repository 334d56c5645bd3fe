/** The folders that servers live in, and what is left of them where even the keeper was killed. */
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const folderPrefix = "layover-postgres-server-";

export function removeAbandonedFolders(): void {
  for (const parent of new Set(["/dev/shm", tmpdir()])) {
    for (const folder of foldersIn(parent)) {
      if (!isInUse(folder)) rmSync(folder, { recursive: true, force: true });
    }
  }
}

function foldersIn(parent: string): string[] {
  try {
    return readdirSync(parent)
      .filter((name) => name.startsWith(folderPrefix))
      .map((name) => join(parent, name));
  } catch {
    return [];
  }
}

function isInUse(folder: string): boolean {
  const starter = firstNumber(join(folder, "starter"));
  const server = firstNumber(join(folder, "data", "postmaster.pid"));
  if (starter === undefined) return isYoung(folder);
  return isAlive(starter) || (server !== undefined && isAlive(server));
}

/** Somebody may be about to write into it. */
function isYoung(folder: string): boolean {
  try {
    return Date.now() - statSync(folder).mtimeMs < 60_000;
  } catch {
    return true;
  }
}

function firstNumber(file: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10);
  } catch {
    return undefined;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
