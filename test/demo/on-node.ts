/** The demo's order on Node: `layover dev`, whose Postgres is a folder that outlives it. */
import { join } from "node:path";
import { type Answer, DevServer } from "../platform/dev-server.ts";
import type { Host, HostOptions } from "./host.ts";

export class OnNode implements Host {
  readonly words = {
    titles: {
      order: "an order outlives its server, twice",
      saga: "an order is cancelled, and its server dies in the middle of the refund",
    },
    one: "server",
    two: "two servers",
    three: "three servers",
    begins: [
      "A server, and Postgres in a folder",
      "The same folder, another server: nobody tells the run to go on",
      "A third server, and a person with a browser",
    ],
  } as const;
  readonly #options: HostOptions;
  #server: DevServer | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  /** Begins a server on the port of the one before, so that a URL that was given away stays good. */
  async begin(): Promise<void> {
    const { screen, folder, effectsUrl } = this.#options;
    const at = Date.now();
    const data = join(folder, "data");
    const port = this.#server?.port ?? 0;
    screen.say("do", `layover dev --data ${data}`);
    this.#server = new DevServer({ data, port, env: { EFFECTS_URL: effectsUrl } });
    await this.#server.listening();
    screen.say("note", `ready at ${this.#server.url} after ${((Date.now() - at) / 1_000).toFixed(1)} s`);
  }

  async kill(): Promise<void> {
    await this.#there.kill("SIGKILL");
  }

  async end(): Promise<void> {
    if (this.#server?.isRunning) await this.#server.kill("SIGTERM");
  }

  get pid(): number {
    return this.#there.pid;
  }

  get output(): string {
    return this.#server?.output ?? "";
  }

  async untilSaid(pattern: RegExp): Promise<RegExpExecArray> {
    return await this.#there.untilSaid(pattern);
  }

  async api(method: string, path: string, value?: unknown): Promise<Answer> {
    return await this.#there.api(method, path, value);
  }

  wallTime(at: number): number {
    return at;
  }

  get #there(): DevServer {
    if (this.#server === undefined) throw new Error("no server has begun");
    return this.#server;
  }
}
