/**
 * The Durable Object that rings a Worker which sleeps. Export it beside what `serve` makes, and bind it:
 *
 *   export { LayoverAlarm } from "layover/cloudflare";
 *   export default serve<Env>({ …, alarm: (env) => env.ALARM });
 *
 * An object runs the script of its Worker, in which `serve` was called: so when it rings it ticks itself, without a
 * request, a signature, or knowledge of where that Worker is mounted. What it keeps: see minutes.ts.
 */
import { type AlarmLook, type AlarmMessage, type Code, carriesAllOf, type MinuteStorage, Minutes } from "./minutes.ts";

/** A binding of Durable Objects, as much of it as is used. */
export interface AlarmNamespace {
  getByName(name: string): { fetch(url: string, request: RequestInit): Promise<Response> };
}

export interface Ticked {
  readonly due: number;
  readonly isWhole: boolean;
}

/** What `serve` makes, by the script's bindings. */
export interface Rung {
  /** Rejects where it has not ended well, which it has reported. */
  readonly tick: (env: object) => Promise<Ticked>;
  readonly codeOf: (env: object) => Code;
}

const rungs = new Set<Rung>();

/** It ticks when an alarm of this script rings. */
export function ringsWith(rung: Rung): void {
  rungs.add(rung);
}

/**
 * Ticks for everything that this script serves. They share the minutes, so whoever ticks for one of them ticks for
 * each.
 */
export async function tickAll(env: object): Promise<Ticked> {
  if (rungs.size === 0) throw new Error("the script of LayoverAlarm serves no Worker with an `alarm`");
  const ends = await Promise.allSettled([...rungs].map((rung) => rung.tick(env)));
  const ticks = ends.map((end) => {
    if (end.status === "rejected") throw end.reason;
    return end.value;
  });
  return { due: ticks.reduce((sum, { due }) => sum + due, 0), isWhole: ticks.every(({ isWhole }) => isWhole) };
}

/** The code of everything that this script serves. */
export function codeOf(env: object): Code {
  const codes = [...rungs].map((rung) => rung.codeOf(env));
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
      onError: (error) => console.error("error while an alarm rang:", error),
    });
  }

  async fetch(request: Request): Promise<Response> {
    // Only this account's Workers reach an object, by a binding; and ours alone has this one.
    return Response.json(await this.#minutes.answer((await request.json()) as AlarmMessage));
  }

  async alarm(): Promise<void> {
    await this.#minutes.ring();
  }
}

/** Asks an object by its binding. One that hangs is given up, though it may have heard. */
export async function askAlarm(
  namespace: AlarmNamespace,
  shard: number,
  message: AlarmMessage,
  limitMs = 4_000,
): Promise<AlarmLook | null> {
  const request = { method: "POST", body: JSON.stringify(message), signal: AbortSignal.timeout(limitMs) };
  const response = await namespace.getByName(`layover-${shard}`).fetch("https://layover.internal/", request);
  if (!response.ok) throw new Error(`the Durable Object of alarms answered ${response.status}`);
  return (await response.json()) as AlarmLook | null;
}
