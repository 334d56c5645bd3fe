/**
 * A host that calls a function with requests, and the stand-alone alarm, a Worker with a Durable Object. Each is layover's own
 * code (fetch-process.ts, src/platform/alarm). Between them are requests (fetch-rings.ts). Nothing else wakes the app, but whoever
 * deploys it.
 */
import { AppAlarm } from "layover/alarm";
import { minuteMs, sweepMs } from "../../../src/core/waking.ts";
import { type AlarmAddress, type ArmOrder, alarmAddress } from "../../../src/http/alarm.ts";
import { Secrets } from "../../../src/http/secrets.ts";
import type { KeptStorage } from "../../../src/platform/alarm/app-alarm.ts";
import { type Kept, nextRingAt } from "../../../src/platform/alarm/kept.ts";
import { type AlarmEnv, alarmWorker } from "../../../src/platform/alarm/worker.ts";
import { Timers } from "../../../src/testing/timers.ts";
import { earliest, type Happening } from "../../engine/course.ts";
import type { Mortal } from "../../engine/mortal.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import type { PlayedObject } from "../../platform/minute-storage.ts";
import { AlarmObject, type MakeObject } from "./alarm-object.ts";
import { FetchProcess, secret } from "./fetch-process.ts";
import { FetchRings } from "./fetch-rings.ts";
import type { Ground, Outside, Plan } from "./outside.ts";

const address: AlarmAddress = alarmAddress("https://alarm.example/apps/orders");
/** The most by which the alarm's clock is off, in milliseconds. A signature counts for five minutes. */
const mostOffMs = 60_000;
/** One ring of so many has the Durable Object gone from memory, after some time. */
const evicting = 50;
const longestRingMs = 45_000;
/** How long after a failure whoever deploys asks for a tick again. */
const againMs = 5_000;

export class Fetch implements Outside {
  readonly isExact = true;
  /** As for Cloudflare: see there. */
  readonly graceMs = 36_000;
  refusedAt: number | undefined;
  readonly #ground: Ground;
  readonly #object: AlarmObject;
  readonly #timers: Timers;
  readonly #worker: ReturnType<typeof alarmWorker>;
  readonly #env: AlarmEnv & Readonly<Record<string, unknown>>;
  readonly #processes = new Set<FetchProcess>();
  readonly #rings: FetchRings;
  readonly #goesOn: boolean;
  /** The object as it is in memory. */
  #inMemory: AppAlarm | undefined;
  /** When it is gone from memory amid a ring. */
  #evicted: { readonly at: number; readonly cutOff: () => void } | undefined;
  /** The deployment whose first tick has succeeded. */
  #ticked: string | undefined;
  /** When whoever deploys asks for a tick. Undefined: they do not, or wait for the answer. */
  #wakesAt: number | undefined;

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#rings = new FetchRings(ground);
    this.#goesOn = ground.below(4) > 0;
    this.#timers = new Timers(() => ground.timeOf(ground.now()));
    this.#object = new AlarmObject(ground, { mostOffMs });
    this.#env = {
      ALARM: {
        getByName: () => ({
          fetch: (url, init) => this.#object.fetch(this.#made, new Request(url, init)),
        }),
      },
      APPS: { orders: "https://example.com" },
      ORDERS_KEY: new Secrets([secret]).keyFor("alarm"),
    };
    this.#worker = alarmWorker(
      this.#host(() => this.#object.now()),
      () => {}, // its storage fails now and then
    );
  }

  readonly beget = (plan: Plan): FetchProcess => {
    const deployment = plan.deployment?.id ?? "";
    const process = new FetchProcess(plan, {
      alarmUrl: address.url,
      send: (asking, url, init) => this.#arm(asking, url, init),
      goesOn: this.#goesOn,
      onTicked: () => {
        this.#ticked = deployment;
        this.#ground.hasTicked(deployment);
      },
    });
    this.#processes.add(process);
    return process;
  };

  happenings(): readonly Happening[] {
    const now = this.#ground.now();
    const process = this.#anyone();
    const isBy = (at: number | undefined) => at !== undefined && at <= now;
    return [
      ...(isBy(this.#timerAt())
        ? [{ what: () => "a timer of the alarm fires", act: () => void this.#timers.fire() }]
        : []),
      ...(isBy(this.#evicted?.at)
        ? [{ what: () => "the Durable Object is gone from memory", act: () => this.#evict() }]
        : []),
      ...(isBy(this.#alarmAt()) ? [{ what: () => "the alarm rings", act: () => this.#ring() }] : []),
      ...(isBy(this.#cronAt()) ? [{ what: () => "the cron trigger looks at the alarm", act: () => this.#look() }] : []),
      ...(process === undefined
        ? []
        : [
            ...this.#rings.happenings(process),
            ...(isBy(this.#wakesAt)
              ? [{ what: () => `whoever deploys asks ${process.name} for a tick`, act: () => this.#wake(process) }]
              : []),
          ]),
    ];
  }

  next(): number | undefined {
    const at = earliest([
      this.#timerAt(),
      this.#evicted?.at,
      this.#alarmAt(),
      this.#cronAt(),
      this.#wakesAt,
      this.#rings.next(),
    ]);
    return at === undefined ? undefined : this.#ground.timeOf(Math.max(at, this.#ground.now()));
  }

  /** An instant stays until a ring for it was answered well, however late that is. */
  standing(): readonly StandingAlarm[] {
    const now = this.#ground.now();
    const { instants = [] } = this.#kept ?? {};
    const rings = instants.map(([at, readyUntil]) => {
      const ringsAt = this.#object.timeOf(at);
      return { at: ringsAt, ringsAt, isRinging: ringsAt <= now, readyUntil };
    });
    if (this.#ticked === this.#ground.deployment()) return rings;
    return [...rings, { at: now, ringsAt: now, isRinging: true, isUnarmed: true }];
  }

  lose(process: Mortal): void {
    if (!(process instanceof FetchProcess)) return;
    this.#processes.delete(process);
    this.#rings.lose(process);
  }

  /** The page of the host says: call `POST /v1/wake` after a deploy. */
  deployed(): void {
    this.#wakesAt = this.#ground.now();
  }

  get #kept(): Kept | undefined {
    // Only AppAlarm writes it.
    return this.#object.stored("kept") as Kept | undefined;
  }

  readonly #made: MakeObject = (storage, now) => {
    this.#inMemory ??= this.#make(storage, now);
    return this.#inMemory;
  };

  /** An object that is gone from memory does nothing more: an answer to its ring may still come, and it writes nothing. */
  #make(storage: PlayedObject, now: () => number): AppAlarm {
    const send = (url: string | URL | Request, init?: RequestInit) => this.#rings.send(String(url), init ?? {});
    const ifThere = async <Answer>(call: () => Promise<Answer>): Promise<Answer> =>
      this.#inMemory === made ? await call() : await new Promise(() => {});
    const own: KeptStorage = {
      get: (keys) => ifThere(() => storage.get(keys)),
      put: (entries) => ifThere(() => storage.put(entries)),
      getAlarm: () => ifThere(() => storage.getAlarm()),
      setAlarm: (at) => ifThere(() => storage.setAlarm(at)),
    };
    const made = new AppAlarm({ storage: own }, this.#env, { host: this.#host(now), send });
    return made;
  }

  #host(now: () => number) {
    const timers = this.#timers;
    return { now, monotonic: () => timers.monotonic(), after: timers.after.bind(timers) };
  }

  #anyone(): FetchProcess | undefined {
    const alive = [...this.#processes];
    return alive[this.#ground.below(Math.max(1, alive.length))];
  }

  /** A request of a process to the alarm. It fails when whoever asks waits no longer. */
  async #arm(asking: FetchProcess, url: string, init: RequestInit): Promise<Response> {
    const { method, headers, body, signal } = init;
    const request = () => new Request(url, { method: method ?? "GET", headers: headers ?? {}, body: body ?? null });
    const answer = asking.ask("alarm", describe(JSON.parse(String(body))), () =>
      this.#worker.fetch(request(), this.#env),
    );
    return await new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      answer.then(resolve, reject);
    });
  }

  #wake(process: FetchProcess): void {
    this.#wakesAt = undefined;
    const deployment = this.#ground.deployment();
    const again = () => {
      if (this.#ticked !== this.#ground.deployment() && deployment === this.#ground.deployment())
        this.#wakesAt = this.#ground.now() + againMs;
    };
    void Promise.race([process.request((client) => client.wake()), process.gone]).then(again, again);
  }

  #ring(): void {
    const { below, now } = this.#ground;
    const { cutOff, hasEnded } = this.#object.ring(this.#made);
    if (below(evicting) === 0) this.#evicted = { at: now() + below(longestRingMs), cutOff };
    void hasEnded.then((isFirst) => {
      if (!isFirst) return;
      this.#evicted = undefined;
      this.#outlast();
    });
  }

  /** What the object was about is gone. The runtime has its alarm ring again. */
  #evict(): void {
    this.#evicted?.cutOff();
    this.#evicted = undefined;
    this.#inMemory = undefined;
    this.#outlast();
  }

  /** Where a ring was not answered well, the next one comes at a time of its own, and a run may wait for that. */
  #outlast(): void {
    const { now } = this.#ground;
    const kept = this.#kept;
    const at = kept === undefined || kept.failures === 0 ? undefined : nextRingAt(kept);
    if (at != null) this.refusedAt = Math.max(this.refusedAt ?? 0, now(), this.#object.timeOf(at));
  }

  #look(): void {
    void this.#worker.scheduled({}, this.#env).catch(() => {});
  }

  #timerAt(): number | undefined {
    const { now, timeOf } = this.#ground;
    const { next } = this.#timers;
    return next === undefined ? undefined : now() - timeOf(now()) + next;
  }

  /** When the object's alarm rings. A sweep that would find nothing is left out. */
  #alarmAt(): number | undefined {
    const { alarmAt } = this.#object;
    const kept = this.#kept;
    const isSweep = kept !== undefined && kept.nextTryAt === null && kept.instants.length === 0;
    return isSweep && this.#ground.dueAt() === undefined ? undefined : alarmAt;
  }

  /** When the cron trigger finds that the runtime has dropped the object's alarm. What it asks in vain is left out. */
  #cronAt(): number | undefined {
    const { now, dueAt } = this.#ground;
    const kept = this.#kept;
    if (kept === undefined || this.#object.isSet || kept.parkedAt !== null) return undefined;
    if (kept.instants.length > 0 || kept.nextTryAt !== null) return Math.ceil((now() + 1) / minuteMs) * minuteMs;
    const due = dueAt();
    return due === undefined ? undefined : due + sweepMs;
  }
}

function describe({ arm }: ArmOrder): string {
  return `rings in ${arm.map(([inMs]) => `${Math.round(inMs / 1_000)} s`).join(", ")}`;
}
