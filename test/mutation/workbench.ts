/** A copy of the tree, in which one file at a time is another one; and the commands that are carried out in it. */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const root = new URL("../../", import.meta.url);
const copied = ["src", "test", "functions", "package.json", "tsconfig.json", "wrangler.toml", "README.md"];
const leftOut = new Set(["node_modules", "dist"]);

export interface Ended {
  /** Null: it took too long, and was ended. */
  readonly code: number | null;
  readonly output: string;
}

export class Workbench {
  readonly folder: string;
  /** Letters and digits, another one for each. */
  readonly name: string;
  readonly #running = new Set<ChildProcess>();

  constructor() {
    const from = fileURLToPath(root);
    this.folder = mkdtempSync(join(tmpdir(), "layover-mutation-"));
    this.name = this.folder.slice(-6).toLowerCase();
    for (const name of copied) {
      cpSync(join(from, name), join(this.folder, name), {
        recursive: true,
        filter: (file) =>
          !relative(from, file)
            .split(sep)
            .some((part) => leftOut.has(part)),
      });
    }
    for (const modules of ["node_modules", "test/toolchain/node_modules"]) {
      symlinkSync(join(from, modules), join(this.folder, modules));
    }
    process.once("exit", () => this.remove());
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.folder, file), text);
  }

  putBack(file: string): void {
    this.write(file, readFileSync(new URL(file, root), "utf8"));
  }

  /** Node, in this folder. */
  async node(args: readonly string[], env: Readonly<Record<string, string>>, longestMs: number): Promise<Ended> {
    const child = this.start(args, env);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += String(chunk)));
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      endGroup(child);
    }, longestMs);
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    clearTimeout(timer);
    return { code: isOver ? null : (code ?? 1), output };
  }

  /** Starts Node in this folder. Whatever it starts ends with it, and all of it with this process. */
  start(args: readonly string[], env: Readonly<Record<string, string>>, ...channels: readonly "ipc"[]): ChildProcess {
    const child = spawn(process.execPath, args, {
      cwd: this.folder,
      env: { ...process.env, ...env, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe", ...channels],
      detached: true, // a group of its own, which is ended as a whole
    });
    this.#running.add(child);
    child.once("close", () => this.#running.delete(child));
    return child;
  }

  remove(): void {
    for (const child of this.#running) endGroup(child);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // it is gone already
  }
}
