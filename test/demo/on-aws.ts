/**
 * The demo's order on AWS: functions/lambda.ts as the construct of `layover/cdk` bundles and deploys it, in processes that
 * Lambda's Runtime API feeds, freezes and kills; AWS' services on the wire; and a Postgres behind Neon's endpoint. When all
 * processes are killed, what goes on with the run is a schedule of EventBridge.
 *
 * That fires one to two minutes after the step began, and nobody wants to wait for it here. So the database's clock is turned
 * once, and the schedule fires at once.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import type { AwsCloud } from "../aws/cloud.ts";
import { deployWhole, type Whole } from "../aws/whole.ts";
import type { Answer } from "../platform/dev-server.ts";
import type { Host, HostOptions } from "./host.ts";
import { paint } from "./screen.ts";

/** A lease lasts a minute, and a motion minute is up to two minutes ahead. */
const aheadMs = 190_000;

export class OnAws implements Host {
  readonly words = {
    titles: {
      order: "an order on AWS outlives its functions, twice",
      saga: "an order on AWS is cancelled, and its functions die in the middle of the refund",
    },
    one: "functions",
    two: "two environments",
    three: "new environments twice",
    begins: [
      "Four functions, a queue, schedules, parameters, and Postgres",
      "No process is left. A schedule stands: nobody else tells the run to go on",
      "New processes, when they are needed, and a person with a browser",
    ],
  } as const;
  readonly #options: HostOptions;
  #whole: Whole | undefined;
  #ending: Promise<void> | undefined;
  #begun = 0;
  #fired = 0;
  /** When the database's clock was turned, by this machine's. */
  #turnedAt = Number.POSITIVE_INFINITY;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    this.#begun += 1;
    if (this.#begun === 1) await this.#deploy();
    if (this.#begun === 2) await this.#fire();
  }

  async kill(): Promise<void> {
    for (const name of ["http", "turns", "tick", "forward"]) this.#cloud.kill(name);
    await delay(100);
  }

  async end(): Promise<void> {
    this.#ending ??= this.#whole?.end();
    await this.#ending;
  }

  get pid(): number {
    return this.#cloud.pid("turns") ?? this.#cloud.pid("http") ?? 0;
  }

  get output(): string {
    return this.#whole?.cloud.output.join("\n") ?? "";
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
    const counts = new Map(
      [...Map.groupBy(this.#cloud.invoked, ({ name }) => name)].map(([name, all]) => [name, all.length]),
    );
    const times = (name: string) => paint("bold", `${counts.get(name) ?? 0} times`);
    const { screen } = this.#options;
    screen.plain(`  http     was invoked ${times("http")}, turns ${times("turns")}, tick ${times("tick")}`);
    screen.plain(`  queue    brought ${paint("bold", `${counts.get("forward") ?? 0}`)} turns whose wait was over`);
    const unwanted = this.#cloud.deadLetters.length;
    if (this.#fired !== 1 || unwanted > 0 || (counts.get("turns") ?? 0) < 2)
      throw new Error(`the order is not carried by turns and a schedule: ${JSON.stringify([...counts])}`);
  }

  async #deploy(): Promise<void> {
    const { screen, effectsUrl } = this.#options;
    const at = Date.now();
    screen.say("do", "cdk synth: bundles functions/lambda.ts, and writes the template of the stack");
    screen.say("do", "postgres, and layover migrate");
    this.#whole = await deployWhole({ entry: "functions/lambda.ts", variables: { EFFECTS_URL: effectsUrl } });
    screen.say("note", `ready at ${this.#cloud.url} after ${((Date.now() - at) / 1_000).toFixed(1)} s`);
  }

  /** Turns the database's clock, and lets the first schedule fire that stands. */
  async #fire(): Promise<void> {
    const { screen } = this.#options;
    const [first] = [...this.#cloud.schedules.keys()].toSorted();
    if (first === undefined) throw new Error("no schedule stands for the run");
    screen.say("note", `turning the database's clock by ${aheadMs / 1_000} s: the schedule is over by then`);
    this.#turnedAt = Date.now();
    await this.#turnDatabase();
    screen.say("do", `EventBridge fires the schedule ${first}, which invokes tick`);
    this.#cloud.fire(first);
    this.#fired += 1;
  }

  async #turnDatabase(): Promise<void> {
    const database = new Client(this.#there.databaseUrl);
    await database.connect();
    try {
      await database.query(`create or replace function layover.now() returns timestamptz language sql volatile as
        $$ select date_trunc('milliseconds', clock_timestamp()) + interval '${aheadMs} milliseconds' $$`);
    } finally {
      await database.end();
    }
  }

  get #there(): Whole {
    if (this.#whole === undefined) throw new Error("nothing is deployed");
    return this.#whole;
  }

  get #cloud(): AwsCloud {
    return this.#there.cloud;
  }
}
