/**
 * The demo's order on Cloudflare: functions/worker.ts on the real workerd, with the queue, the Durable Object and the cron
 * trigger of wrangler.toml, and a Postgres behind Neon's endpoint. What workerd leaves when it is killed is what its
 * Durable Object has written to disk: messages under way are lost, so what goes on with the run is its alarm.
 *
 * That is a minute which rings between one and two after the step began, and nobody wants to wait for it here. So all
 * clocks are turned once: the database's, the Worker's and its object's. The alarm then is the runtime's own.
 */
import { Client } from "pg";
import type { Answer } from "../platform/dev-server.ts";
import { workerWithNode } from "../platform/wrangler-bundle.ts";
import { Deployment } from "./deployment.ts";
import type { Host, HostOptions } from "./host.ts";
import type { Reached } from "./observing.ts";
import { paint } from "./screen.ts";

/** A motion minute is up to two minutes ahead, and rings 2 s after it began. */
const aheadMs = 130_000;

const stories: Partial<Record<Reached, string>> = {
  queue: "the queue delivers to the Worker",
  alarm: "the alarm of the Durable Object rings, and has the Worker tick",
  dead: "the queue gives a message up",
};

export class OnCloudflare implements Host {
  readonly words = {
    titles: {
      order: "an order on Cloudflare outlives its machine, twice",
      saga: "an order on Cloudflare is cancelled, and its machine dies in the middle of the refund",
    },
    one: "workerd",
    two: "two machines",
    three: "three machines",
    begins: [
      "A Worker with a queue, a Durable Object and a cron trigger, and Postgres",
      "Another machine, with what the Durable Object wrote. The queue's messages are lost: nobody tells the run to go on",
      "A third machine, and a person with a browser",
    ],
  } as const;
  readonly #options: HostOptions;
  readonly #counts: Record<Reached, number> = { cron: 0, queue: 0, dead: 0, object: 0, alarm: 0 };
  #deployment: Deployment | undefined;
  #preparing: Promise<Deployment> | undefined;
  #begun = 0;
  /** When the clocks were turned, by this machine's. */
  #turnedAt = Number.POSITIVE_INFINITY;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    const { screen } = this.#options;
    this.#begun += 1;
    if (this.#begun === 1) await this.#prepare();
    if (this.#begun === 2) await this.#turnDatabase();
    const at = Date.now();
    await this.#there.begin();
    if (this.#begun > 2) await this.#turnWorker({ shards: 0 });
    screen.say("do", `workerd, at ${this.#there.url} after ${((Date.now() - at) / 1_000).toFixed(1)} s`);
    await this.#ring();
    if (this.#begun !== 2) return;
    screen.say(
      "note",
      `turning all clocks by ${aheadMs / 1_000} s: the alarm is due by then, and nobody has to wait for it`,
    );
    await this.#turnWorker({ shards: 1 });
  }

  async kill(): Promise<void> {
    await this.#there.kill();
  }

  async end(): Promise<void> {
    const deployment = await this.#preparing?.catch(() => undefined);
    this.#preparing = undefined;
    await deployment?.end();
  }

  get pid(): number {
    return this.#there.pid;
  }

  get output(): string {
    return this.#deployment?.output ?? "";
  }

  async untilSaid(pattern: RegExp): Promise<RegExpExecArray> {
    return await this.#there.untilSaid(pattern);
  }

  async api(method: string, path: string, value?: unknown): Promise<Answer> {
    return await this.#there.api(method, path, value);
  }

  wallTime(at: number): number {
    return at > this.#turnedAt + aheadMs / 2 ? at - aheadMs : at;
  }

  account(): void {
    const { cron, queue, dead, alarm } = this.#counts;
    const times = (count: number) => paint("bold", count === 1 ? "once" : `${count} times`);
    const { screen } = this.#options;
    screen.plain(`  cron     rang ${times(cron)}, and asked Postgres only when the deployment was new`);
    screen.plain(`  object   its alarm rang ${times(alarm)}`);
    screen.plain(
      `  queue    delivered ${times(queue)}, and gave up ${paint("bold", dead === 0 ? "nothing" : `${dead}`)}`,
    );
    if (cron !== this.#begun || queue < 2 || alarm < 1 || dead > 0)
      throw new Error(`the order is not carried by the queue, the alarm and cron: ${JSON.stringify(this.#counts)}`);
  }

  async #prepare(): Promise<void> {
    const { screen, folder, effectsUrl } = this.#options;
    screen.say("do", "wrangler deploy --dry-run: bundles the Worker of functions/worker.ts");
    const script = workerWithNode("test/demo/worker.ts");
    screen.say("do", "postgres, and layover migrate");
    this.#preparing = Deployment.prepare({
      script,
      folder,
      env: { EFFECTS_URL: effectsUrl },
      onReached: (reached) => this.#hear(reached),
    });
    this.#deployment = await this.#preparing;
  }

  /** Only a deployment's first ring asks Postgres. */
  async #ring(): Promise<void> {
    const { screen } = this.#options;
    const before = this.#there.statements;
    await this.#there.ring();
    const statements = this.#there.statements - before;
    const asked =
      this.#begun === 1 ? "the Durable Object, and Postgres, as the deployment is new" : "the Durable Object";
    screen.say("do", `the cron trigger rings: it asks ${asked}. ${statements} statements`);
    if (this.#begun > 1 && statements > 0)
      throw new Error("the cron trigger has asked Postgres, though it had no reason to");
  }

  async #turnDatabase(): Promise<void> {
    this.#turnedAt = Date.now();
    const database = new Client(this.#there.databaseUrl);
    await database.connect();
    try {
      await database.query(`create or replace function layover.now() returns timestamptz language sql volatile as
        $$ select date_trunc('milliseconds', clock_timestamp()) + interval '${aheadMs} milliseconds' $$`);
    } finally {
      await database.end();
    }
  }

  /**
   * See turning.ts. Another workerd has the clock of this machine; its objects' alarms, of which so many are to ring
   * earlier, are those that they had.
   */
  async #turnWorker({ shards }: { shards: number }): Promise<void> {
    const response = await fetch(`${this.#there.url}/turn?to=${aheadMs}&shards=${shards}`, { method: "POST" });
    if (!response.ok) throw new Error(`the Worker's clock could not be turned: ${response.status}`);
  }

  #hear(reached: Reached): void {
    this.#counts[reached] += 1;
    const story = stories[reached];
    if (story !== undefined) this.#options.screen.say("note", paint("dim", story));
  }

  get #there(): Deployment {
    if (this.#deployment === undefined) throw new Error("no deployment is prepared");
    return this.#deployment;
  }
}
