/** A folder for `layover init`, what the command prints, and the files that it leaves there. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { vi } from "vitest";
import { init } from "../../src/cli/init/init.ts";

export function beginInit(): { readonly folder: string; readonly printed: readonly string[] } {
  const folder = join(mkdtempSync(join(tmpdir(), "layover-init-")), "orders");
  const printed: string[] = [];
  vi.spyOn(console, "log").mockImplementation((text: string) => void printed.push(text));
  return { folder, printed };
}

export function endInit(folder: string): void {
  vi.restoreAllMocks();
  rmSync(dirname(folder), { recursive: true });
}

export const layoverInit = async (...args: string[]) => await init.parseAsync(args, { from: "user" });

/** Reads and writes the files of the folder that a test has. */
export function filesOf(folderNow: () => string) {
  const read = (path: string) => readFileSync(join(folderNow(), path), "utf8");
  const json = (path: string) => JSON.parse(read(path));

  function there(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folderNow(), path)), { recursive: true });
      writeFileSync(join(folderNow(), path), text);
    }
  }

  /** Slashes, whatever the system has. */
  function found(): readonly string[] {
    const entries = readdirSync(dirname(folderNow()), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    return files.map((file) => relative(folderNow(), file).replaceAll("\\", "/")).toSorted();
  }

  return { read, json, there, found };
}
