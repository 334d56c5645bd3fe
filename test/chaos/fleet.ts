/**
 * The processes that serve, as whoever runs them in production has them: one that died is started again within a
 * second, and whoever calls is handed to any that is up.
 */
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { ServerProcess } from "../platform/server-process.ts";
import { quietPort } from "./ports.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface BerthOptions {
  readonly databaseUrl: string;
  readonly effectsUrl: string;
  readonly isPooled: boolean;
  readonly secret: string;
  readonly leaseMs: number;
  readonly hasDoor: boolean;
}

/** A place for a process: its port and its way to the database stay, processes come and go. */
export class Berth {
  readonly port: number;
  /** All that processes have said here, the last one's at the end. */
  readonly said: string[] = [];
  readonly #options: BerthOptions;
  #process: ServerProcess | undefined;
  #isFrozen = false;
  #isBusy = false;

  private constructor(port: number, options: BerthOptions) {
    this.port = port;
    this.#options = options;
  }

  static async open(options: BerthOptions): Promise<Berth> {
    return new Berth(await quietPort(), options);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Nobody is about to do something to the process that is here. */
  get isFree(): boolean {
    return !this.#isBusy && this.#process?.isRunning === true;
  }

  /** Resolves when it listens; rejects with what it said if it ends before. */
  async start(): Promise<void> {
    const { databaseUrl, effectsUrl, isPooled, secret, leaseMs, hasDoor } = this.#options;
    this.#process = new ServerProcess(["--conditions=layover-source", "test/chaos/handler.ts"], {
      cwd: root,
      env: {
        DATABASE_URL: databaseUrl,
        EFFECTS_URL: effectsUrl,
        POOLED: isPooled ? "yes" : "no",
        LAYOVER_SECRET: secret,
        PORT: String(this.port),
        LEASE_MS: String(leaseMs),
        DOOR: hasDoor ? "auto" : "",
      },
    });
    await this.#process.untilSaid(/listens on/);
  }

  /** `kill -9`, and another one in its place. */
  async kill(restartAfterMs: number): Promise<void> {
    await this.#busy(async () => {
      await this.end("SIGKILL");
      await delay(restartAfterMs);
      await this.start();
    });
  }

  /** It does nothing for so long, and then goes on as if nothing had happened. */
  async freeze(forMs: number): Promise<void> {
    await this.#busy(async () => {
      this.stop();
      await delay(forMs);
      this.goOn();
    });
  }

  /** As a deploy does it: what is under way ends first. */
  async replace(): Promise<void> {
    await this.#busy(async () => {
      await this.end("SIGTERM");
      await this.start();
    });
  }

  stop(): void {
    this.#isFrozen = true;
    this.#signal("SIGSTOP");
  }

  goOn(): void {
    this.#isFrozen = false;
    this.#signal("SIGCONT");
  }

  /** Resolves when it is gone. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    this.#process = undefined;
    if (process.isRunning) {
      if (this.#isFrozen && signal === "SIGTERM") globalThis.process.kill(process.pid, "SIGCONT");
      await process.kill(signal);
    }
    this.said.push(process.output);
  }

  async #busy(work: () => Promise<void>): Promise<void> {
    this.#isBusy = true;
    try {
      await work();
    } finally {
      this.#isBusy = false;
    }
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#process?.isRunning) process.kill(this.#process.pid, signal);
  }
}
