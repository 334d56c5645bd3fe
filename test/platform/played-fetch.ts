/**
 * A deployment of `layover/fetch` and its alarm, a Worker of `layover/alarm`, on time that passes only when nothing else is
 * left to happen. Postgres alone is real. Requests between them may be refused by the test.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Query } from "layover";
import { AppAlarm } from "layover/alarm";
import type { FetchHandler, FetchOptions } from "layover/fetch";
import { pause } from "../../src/core/waits.ts";
import type { AlarmStatus, RingMessage } from "../../src/http/alarm.ts";
import { statusRequest } from "../../src/http/alarm.ts";
import { type AlarmEnv, alarmWorker } from "../../src/platform/alarm/worker.ts";
import { handlerOf } from "../../src/platform/fetch/serve.ts";
import { PlayedTime } from "../idle/played-time.ts";
import { RingingStorage } from "../idle/ringing-storage.ts";
import type { Clock } from "../postgres/clock.ts";
import { authorized, secret, secrets } from "./a-worker.ts";

export const appUrl = "https://app.example";
const alarmUrl = "https://alarm.example/apps/orders";

export interface PlayedFetchOptions extends Pick<FetchOptions, "workflows" | "onEvent" | "onLog" | "limit"> {
  readonly query: Query;
  /** Clock of the same database, which is set to the clock that is played. */
  readonly clock: Clock;
  /** How far the clock of the alarm is ahead of that of the deployment, in milliseconds. Default: 0. */
  readonly alarmAheadMs?: number;
  /** Whether nothing goes on after an answer. */
  readonly endsWithAnswer?: boolean;
}

export class PlayedFetch {
  readonly statements: string[] = [];
  /** The messages to the alarm. */
  armed = 0;
  /** The rings, by the played clock, and how each was answered. */
  readonly rings: { readonly at: number; readonly message: RingMessage; status?: number; more?: boolean }[] = [];
  /** The host answers rings itself in place of the deployment. */
  hostAnswers: (() => Promise<Response>) | undefined;
  isAlarmDown = false;
  /** When the request began in which the caller is at work, by the played clock. */
  readonly requestBegan = new AsyncLocalStorage<number>();
  readonly time: PlayedTime;
  readonly storage: RingingStorage;
  readonly env: AlarmEnv & Readonly<Record<string, unknown>>;
  readonly worker: ReturnType<typeof alarmWorker>;
  readonly #options: PlayedFetchOptions;
  #process = { isDead: false };
  #handler: FetchHandler;

  constructor(options: PlayedFetchOptions) {
    this.#options = options;
    const { query, clock, alarmAheadMs = 0 } = options;
    this.time = new PlayedTime({ query, clock, onStatement: (name) => this.statements.push(name) });
    const { host } = this.time;
    const ofAlarm = {
      now: () => host.now() + alarmAheadMs,
      monotonic: () => host.monotonic(),
      after: (ms: number, act: () => void) => host.after(ms, act),
    };
    this.storage = new RingingStorage(ofAlarm, () => void object.alarm());
    this.env = {
      ALARM: { getByName: () => ({ fetch: (url, init) => object.fetch(new Request(url, init)) }) },
      APPS: { orders: appUrl },
      ORDERS_KEY: secrets.keyFor("alarm"),
    };
    const object: AppAlarm = new AppAlarm({ storage: this.storage }, this.env, {
      host: ofAlarm,
      send: (url, init) => this.#ring(new Request(String(url), init)),
    });
    this.worker = alarmWorker(ofAlarm);
    this.#handler = this.#begin();
  }

  /** Kills the process, with what it has under way. Another one takes its place. */
  kill(): void {
    this.#process.isDead = true;
    this.#handler = this.#begin();
  }

  /** Starts runs by SQL, which arms nothing. */
  async startBare(count: number, run: object): Promise<void> {
    const text = "select layover.start_run($1) from generate_series(1, $2)";
    await this.#options.query(text, [JSON.stringify(run), count]);
  }

  /** Sends a request, and lets time pass until it is answered. */
  async call(method: string, path: string, value?: unknown): Promise<{ status: number; body: unknown }> {
    const body = value === undefined ? {} : { body: JSON.stringify(value) };
    let answer: Response | undefined;
    const answered = this.handle(new Request(`${appUrl}${path}`, { method, headers: authorized, ...body }));
    void answered.then((response) => {
      answer = response;
    });
    for (let tries = 0; answer === undefined && tries < 10_000; tries += 1) await this.pass(20);
    const response = await answered;
    return { status: response.status, body: await response.json() };
  }

  async start(workflow: string, input?: unknown): Promise<string> {
    const { body } = await this.call("POST", `/v1/workflows/${workflow}/runs`, { input });
    return String(Reflect.get(Object(body), "runId"));
  }

  async run(runId: string): Promise<unknown> {
    return (await this.call("GET", `/v1/runs/${runId}`)).body;
  }

  async handle(request: Request): Promise<Response> {
    const context = this.#options.endsWithAnswer ? {} : { waitUntil: () => {} };
    void this.time.during(() => rounds(20));
    return await this.requestBegan.run(this.time.now(), () => this.#handler(request, context));
  }

  async status(): Promise<AlarmStatus> {
    const request = statusRequest({ secrets, app: "orders", nowMs: this.time.now() });
    const response = await this.worker.fetch(new Request(`${alarmUrl}/status`, request), this.env);
    return (await response.json()) as AlarmStatus;
  }

  async pass(ms: number): Promise<void> {
    await this.time.passUntil(this.time.now() + ms);
  }

  /** What has happened since the last call of this. */
  take(): { readonly statements: readonly string[]; readonly armed: number; readonly rings: number } {
    const taken = { statements: this.statements.splice(0), armed: this.armed, rings: this.rings.length };
    this.armed = 0;
    this.rings.length = 0;
    return taken;
  }

  #begin(): FetchHandler {
    const { workflows, onEvent, onLog, limit } = this.#options;
    const process = { isDead: false };
    this.#process = process;
    const database = (...call: Parameters<Query>): ReturnType<Query> =>
      process.isDead ? new Promise(() => {}) : this.time.query(...call);
    return handlerOf(
      {
        workflows,
        onEvent,
        onLog,
        limit,
        database: () => Object.assign(database, { endpoint: this.time.query.endpoint }),
        secrets: () => [secret],
        publicUrl: () => appUrl,
        alarm: () => alarmUrl,
      },
      {
        host: this.time.host,
        send: (url, init) => (process.isDead ? new Promise(() => {}) : this.#arm(new Request(String(url), init))),
        env: {},
        engine: { atRest: () => pause(this.time.host, 0) },
      },
    );
  }

  async #arm(request: Request): Promise<Response> {
    if (this.isAlarmDown) throw new TypeError("fetch failed");
    this.armed += 1;
    return await this.time.during(() => this.worker.fetch(request, this.env));
  }

  async #ring(request: Request): Promise<Response> {
    const message: RingMessage = await this.time.during(() => request.clone().json());
    const ring: PlayedFetch["rings"][number] = { at: this.time.now(), message };
    this.rings.push(ring);
    const response = await (this.hostAnswers?.() ?? this.handle(request));
    ring.status = response.status;
    if (response.status === 200) ring.more = Reflect.get(Object(await response.clone().json()), "more") === true;
    return response;
  }
}

async function rounds(count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) await new Promise((resolve) => setImmediate(resolve));
}
