/** `layover dev` as a process of its own, to be killed: for the demo and for tests. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface DevServerOptions {
  readonly data: string;
  /** Default: any that is free. */
  readonly port?: number;
  /** Default: the reference deployment's workflows. */
  readonly module?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

export class DevServer {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #listeners = new Set<() => void>();
  #output = "";
  #url = "";
  #key = "";

  constructor(options: DevServerOptions) {
    const { data, port = 0, module, env } = options;
    const args = [
      "src/cli/main.ts",
      "dev",
      ...(module === undefined ? [] : [module]),
      "--data",
      data,
      "--port",
      `${port}`,
    ];
    this.#child = spawn(process.execPath, ["--conditions=layover-source", ...args], {
      cwd: root,
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

  /** Resolves when it listens; rejects with what it said if it ends before. */
  async listening(): Promise<void> {
    const [, url, key] = await this.untilSaid(/ at (http:\S+)\n[\s\S]*\nKEY=(\S+)\n/);
    if (url === undefined || key === undefined) throw new Error("the pattern has two groups");
    this.#url = url;
    this.#key = key;
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  get url(): string {
    return this.#url;
  }

  /** An API key that counts in its data folder. */
  get key(): string {
    return this.#key;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** All that it has written so far. */
  get output(): string {
    return this.#output;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

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

  /** A call of the API, with the key that it printed. */
  async api(method: string, path: string, value?: unknown): Promise<Answer> {
    const headers = { authorization: `Bearer ${this.#key}`, "content-type": "application/json" };
    const body = value === undefined ? {} : { body: JSON.stringify(value) };
    const response = await fetch(`${this.url}${path}`, { method, headers, ...body });
    return { status: response.status, body: await response.json() };
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
