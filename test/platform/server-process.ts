/** A server as a process of its own, that tells what it does on its output: to be watched, and killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

export interface ServerProcessOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The program. Default: Node. */
  readonly command?: string | undefined;
}

export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #listeners = new Set<() => void>();
  #output = "";

  constructor(args: readonly string[], { cwd, env, command = process.execPath }: ServerProcessOptions) {
    this.#child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#ended = once(this.#child, "close").then(() => this.#tell());
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text;
        this.#tell();
      });
    }
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  /** All that it has written so far. */
  get output(): string {
    return this.#output;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Rejects with what it said if it ends before. */
  async untilSaid(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.#output);
      if (match !== null) return match;
      if (!this.isRunning) throw new Error(`the server ended before it said ${pattern}:\n${this.#output}`);
      await new Promise<void>((resolve) => {
        this.#listeners.add(resolve);
      });
    }
  }

  /** Resolves when the process is gone, with its exit code if it had one. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<number | null> {
    this.#child.kill(signal);
    await this.#ended;
    return this.#child.exitCode;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}
