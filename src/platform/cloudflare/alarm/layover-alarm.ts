/**
 * The Durable Object that wakes a Worker. Export it beside what `serve` answers, and bind it:
 *
 *   export { LayoverAlarm } from "layover/cloudflare";
 *   export default serve<Env>({ …, alarm: (env) => env.ALARM });
 *
 * An object runs the script of its Worker, in which `serve` was called. So it ticks by itself when its alarm rings. It
 * needs no request, no signature, and no address of the Worker. What it keeps is described in minutes.ts.
 */
import type { Report } from "../../../engine/events.ts";
import { type AlarmMessage, type AlarmState, type Code, carriesAllOf, type MinuteStorage, Minutes } from "./minutes.ts";

/** A binding of Durable Objects, as much of it as is used. */
export interface AlarmNamespace {
  getByName(name: string): { fetch(url: string, request: RequestInit): Promise<Response> };
}

export interface Ticked {
  /** How many runs were due. */
  readonly due: number;
  /** Whether everything that was dispatched was taken. */
  readonly isWhole: boolean;
}

/** What one call of `serve` does with the bindings of the script. */
export interface Served {
  /** Ticks. It reports why if that has not ended well, and rejects. */
  readonly tick: (env: object) => Promise<Ticked>;
  readonly report: Report;
  readonly codeOf: (env: object) => Code;
}

const served = new Set<Served>();

/** Makes the alarms of this script tick for one more call of `serve`. */
export function addServed(one: Served): void {
  served.add(one);
}

/** A tick that failed. The Worker that ticked has reported the cause, so nobody reports this error again. */
export class TickFailed extends Error {
  override readonly name = "TickFailed";

  constructor(cause: unknown) {
    super(`a tick failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/**
 * Ticks for everything that this script serves. All calls of `serve` share the minutes, so a minute rings for all of
 * them.
 *
 * @throws TickFailed
 */
export async function tickAll(env: object): Promise<Ticked> {
  if (served.size === 0) throw new Error("the script of LayoverAlarm serves no Worker with an `alarm`");
  const ends = await Promise.allSettled([...served].map((one) => one.tick(env)));
  const ticks = ends.map((end) => {
    if (end.status === "rejected") throw new TickFailed(end.reason);
    return end.value;
  });
  return { due: ticks.reduce((sum, { due }) => sum + due, 0), isWhole: ticks.every(({ isWhole }) => isWhole) };
}

/** Tells each Worker of this script that an object could not ring. Without a Worker, only the console is left. */
function reportRing(error: unknown): void {
  if (error instanceof TickFailed) return;
  if (served.size === 0) console.error("error while an alarm rang:", error);
  for (const { report } of served) report(error, "ringing an alarm");
}

/** The code of everything that this script serves. */
export function codeOf(env: object): Code {
  const codes = [...served].map((one) => one.codeOf(env));
  return {
    id: codes.map(({ id }) => id).join("\n"),
    carries: codes.flatMap(({ carries }, place) => carries.map((version) => `${place}/${version}`)),
  };
}

/**
 * The class of the Durable Objects that ring. The runtime makes them: export it from the Worker's module, and bind it.
 *
 * @example export { LayoverAlarm } from "layover/cloudflare";
 */
export class LayoverAlarm {
  readonly #minutes: Minutes;

  constructor(state: { readonly storage: MinuteStorage }, env: object) {
    this.#minutes = new Minutes({
      storage: state.storage,
      now: Date.now,
      ring: async (live) => {
        await tickAll(env);
        // This object may run older code for five minutes after a deploy, or as long as a gradual deploy lasts. That
        // code does not find runs which only newer code carries. Then the minute stays, and the cron trigger does it,
        // which runs the newer code in the end.
        return carriesAllOf(codeOf(env), live);
      },
      onError: reportRing,
    });
  }

  async fetch(request: Request): Promise<Response> {
    // Only a Worker of this account that has the binding can reach an object, and only our own has this binding.
    return Response.json(await this.#minutes.answer((await request.json()) as AlarmMessage));
  }

  async alarm(): Promise<void> {
    await this.#minutes.ring();
  }
}

/** Asks an object by its binding. An object that hangs is given up, though it may have got the message. */
export async function askAlarm(
  namespace: AlarmNamespace,
  shard: number,
  message: AlarmMessage,
  limitMs = 4_000,
): Promise<AlarmState | null> {
  const request = { method: "POST", body: JSON.stringify(message), signal: AbortSignal.timeout(limitMs) };
  const response = await namespace.getByName(`layover-${shard}`).fetch("https://layover.internal/", request);
  if (!response.ok) throw new Error(`the Durable Object of alarms answered ${response.status}`);
  return (await response.json()) as AlarmState | null;
}
