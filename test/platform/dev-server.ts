/** `layover dev` as a process of its own, to be killed: for the demo and for tests. */
import { fileURLToPath } from "node:url";
import { ServerProcess } from "./server-process.ts";

export interface DevServerOptions {
  readonly data: string;
  /** Default: any that is free. */
  readonly port?: number;
  /** Default: the reference deployment's workflows. */
  readonly module?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it begins anew when a file changes. Then the process that serves is a child of this one. Default: no. */
  readonly reloads?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

export class DevServer extends ServerProcess {
  #url = "";
  #key = "";

  constructor({ data, port = 0, module, env, reloads = false }: DevServerOptions) {
    const modules = module === undefined ? [] : [module];
    const args = ["src/cli/main.ts", "dev", ...modules, "--data", data, "--port", `${port}`];
    if (!reloads) args.push("--no-reload");
    super(["--conditions=layover-source", ...args], { cwd: root, env });
  }

  /** Resolves when it listens; rejects with what it said if it ends before. */
  async listening(): Promise<void> {
    const [, url, key] = await this.untilSaid(/ at (http:\S+)\n[\s\S]*\nKEY=(\S+)\n/);
    if (url === undefined || key === undefined) throw new Error("the pattern has two groups");
    this.#url = url;
    this.#key = key;
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

  /** A call of the API, with the key that it printed. */
  async api(method: string, path: string, value?: unknown): Promise<Answer> {
    const headers = { authorization: `Bearer ${this.#key}`, "content-type": "application/json" };
    const body = value === undefined ? {} : { body: JSON.stringify(value) };
    const response = await fetch(`${this.url}${path}`, { method, headers, ...body });
    return { status: response.status, body: await response.json() };
  }
}
