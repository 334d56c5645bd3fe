/**
 * The Durable Object of one app: it keeps the app's instants, and rings when they come. What it keeps and how that
 * changes is in kept.ts.
 *
 * The runtime tries an alarm whose handler throws six times more, and then drops it. So {@link AppAlarm.alarm} throws
 * only if the storage fails. If an alarm is dropped nevertheless, the cron trigger has the object set another one.
 */
import type { WallClock } from "../../core/ports.ts";
import type { AlarmStatus, ArmOrder } from "../../http/alarm.ts";
import { hostClock } from "../../postgres/host-clock.ts";
import { type App, appOf } from "./apps.ts";
import { afterAnswer, afterFailure, dueAt, type Kept, newKept, nextRingAt, statusOf, withArmed } from "./kept.ts";
import { type Ring, ringApp } from "./ring-app.ts";

/** The storage of a Durable Object, as much of it as is used. */
export interface KeptStorage {
  get(keys: string[]): Promise<Map<string, unknown>>;
  put(entries: Record<string, unknown>): Promise<void>;
  /** The alarm that is set. Null: there is none, or the handler of the one that rang is at work. */
  getAlarm(): Promise<number | null>;
  setAlarm(at: number): Promise<void>;
}

/** What the Worker asks an object, as JSON. It has verified who asks. */
export type AppMessage = { readonly app: string } & (
  | { readonly order: ArmOrder }
  /** The cron trigger: whether its alarm is set. */
  | { readonly look: true }
  | { readonly status: true }
);

/** What an object takes from its runtime. A test plays another one. */
interface ObjectRuntime {
  readonly host: WallClock;
  readonly send: typeof fetch;
}

const workerd: ObjectRuntime = { host: hostClock, send: (...request) => fetch(...request) };

/**
 * The class of the Durable Objects that ring, one for each app. The runtime makes them: export it from the Worker's
 * module, and bind it as ALARM.
 *
 * @example export { AppAlarm, default } from "layover/alarm";
 */
export class AppAlarm {
  readonly #storage: KeptStorage;
  readonly #env: object;
  readonly #runtime: ObjectRuntime;
  #kept: Promise<{ value: Kept | undefined }> | undefined;
  #isRinging = false;
  /** Whether the app has armed something since the last ring began. */
  #hasArmed = false;

  constructor(state: { readonly storage: KeptStorage }, env: object, runtime: ObjectRuntime = workerd) {
    this.#storage = state.storage;
    this.#env = env;
    this.#runtime = runtime;
  }

  /** Only the Worker that has the binding reaches an object. */
  async fetch(request: Request): Promise<Response> {
    const message = (await request.json()) as AppMessage;
    const { host } = this.#runtime;
    if ("order" in message) {
      this.#hasArmed = true;
      await this.#change((kept) => withArmed(kept ?? newKept(message.app, host.now()), message.order, host.now()));
    }
    if ("look" in message) await this.#setAlarm();
    return Response.json("status" in message ? await this.#status(message.app) : null);
  }

  async alarm(): Promise<void> {
    if (this.#isRinging) return;
    const { host } = this.#runtime;
    const { value: kept } = await this.#load();
    const rungAt = host.now();
    if (kept === undefined || (nextRingAt(kept) ?? Number.POSITIVE_INFINITY) > rungAt) return await this.#setAlarm();
    this.#isRinging = true;
    this.#hasArmed = false;
    const ring = await this.#ring(kept, rungAt);
    this.#isRinging = false;
    const now = host.now();
    await this.#change((current = kept) =>
      ring.outcome === "answered"
        ? afterAnswer(current, rungAt, { now, more: ring.more })
        : afterFailure(current, ring.says, { now, isGone: ring.isGone, isAlive: this.#hasArmed }),
    );
  }

  async #ring(kept: Kept, rungAt: number): Promise<Ring> {
    const due = dueAt(kept, rungAt);
    const isSweep = due.length === 0 && kept.nextTryAt === null;
    const readyUntil = Math.max(0, ...due.map(([, until]) => until));
    try {
      const app = appOf(this.#env, kept.app);
      if (app === undefined) return { outcome: "failed", isGone: true, says: "the configuration does not name it" };
      return await ringApp(app, { readyUntil, isSweep }, this.#runtime);
    } catch (error) {
      return { outcome: "failed", isGone: false, says: error instanceof Error ? error.message : "it cannot be rung" };
    }
  }

  async #status(app: string): Promise<AlarmStatus> {
    const { value } = await this.#load();
    const now = this.#runtime.host.now();
    const { url } = appOf(this.#env, app) ?? ({ url: "" } satisfies Pick<App, "url">);
    const status = statusOf(value ?? newKept(app, now), now);
    return { ...status, url, nextRingAt: value === undefined ? null : status.nextRingAt };
  }

  /** Changes what is kept, in one go: no other change comes in between. If it cannot be stored, it is read anew. */
  async #change(change: (kept: Kept | undefined) => Kept): Promise<void> {
    const loaded = await this.#load();
    const before = loaded.value;
    loaded.value = change(before);
    try {
      if (JSON.stringify(before) !== JSON.stringify(loaded.value)) await this.#storage.put({ kept: loaded.value });
      await this.#setAlarm();
    } catch (error) {
      this.#kept = undefined;
      throw error;
    }
  }

  /**
   * Sets the alarm to the next ring, unless it stands earlier: each setting is billed. What is armed while it rings waits for
   * the end of the ring. If the object dies amid that, the runtime has its alarm ring again.
   */
  async #setAlarm(): Promise<void> {
    if (this.#isRinging) return;
    const { value } = await this.#load();
    const at = value === undefined ? null : nextRingAt(value);
    if (at === null) return;
    const standing = await this.#storage.getAlarm();
    if (standing === null || standing > at) await this.#storage.setAlarm(at);
  }

  #load(): Promise<{ value: Kept | undefined }> {
    this.#kept ??= this.#read();
    this.#kept.catch(() => {
      this.#kept = undefined;
    });
    return this.#kept;
  }

  async #read(): Promise<{ value: Kept | undefined }> {
    // Only this class writes it.
    return { value: (await this.#storage.get(["kept"])).get("kept") as Kept | undefined };
  }
}
