/**
 * The Durable Object that wakes a Worker. Export it beside what `serve` answers, and bind it:
 *
 *   export { LayoverAlarm } from "layover/cloudflare";
 *   export default serve<Env>({ …, alarm: (env) => env.ALARM });
 *
 * An object runs the script of its Worker, in which `serve` was called. So it ticks by itself when its alarm rings. It
 * needs no request, no signature, and no address of the Worker. What it keeps is described in minutes.ts.
 */
import type { HostClock, WallClock } from "../../../core/ports.ts";
import { hostClock } from "../../../postgres/host-clock.ts";
import { type AlarmMessage, type AlarmState, carriesAllOf, type MinuteStorage, Minutes } from "./minutes.ts";
import { codeOf, reportRing, type Script, thisScript, tickAll } from "./script.ts";

/** A binding of Durable Objects, as much of it as is used. */
export interface AlarmNamespace {
  getByName(name: string): { fetch(url: string, request: RequestInit): Promise<Response> };
}

/** The runtime of an object. A test plays another one. */
interface ObjectRuntime {
  readonly script: Script;
  readonly host: WallClock;
}

/**
 * The class of the Durable Objects that ring. The runtime makes them: export it from the Worker's module, and bind it.
 *
 * @example export { LayoverAlarm } from "layover/cloudflare";
 */
export class LayoverAlarm {
  readonly #minutes: Minutes;

  constructor(
    state: { readonly storage: MinuteStorage },
    env: object,
    { script, host }: ObjectRuntime = { script: thisScript, host: hostClock },
  ) {
    this.#minutes = new Minutes({
      storage: state.storage,
      now: () => host.now(),
      ring: async (live, readyUntil) => {
        await tickAll(script, env, readyUntil);
        // This object may run older code for five minutes after a deploy, or as long as a gradual deploy lasts. That
        // code does not find runs which only newer code carries. Then the minute stays, and the cron trigger does it,
        // which runs the newer code in the end.
        return carriesAllOf(codeOf(script, env), live);
      },
      onError: (error) => reportRing(script, error),
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
  { namespace, host, limitMs = 4_000 }: Asking,
  shard: number,
  message: AlarmMessage,
): Promise<AlarmState | null> {
  const limit = new AbortController();
  const stop = host.after(limitMs, () => limit.abort(new Error("the Durable Object of alarms answered too late")));
  try {
    const request = { method: "POST", body: JSON.stringify(message), signal: limit.signal };
    const response = await namespace.getByName(`layover-${shard}`).fetch("https://layover.internal/", request);
    if (!response.ok) throw new Error(`the Durable Object of alarms answered ${response.status}`);
    return (await response.json()) as AlarmState | null;
  } finally {
    stop();
  }
}

interface Asking {
  readonly namespace: AlarmNamespace;
  readonly host: HostClock;
  /** How long an object may take to answer, in milliseconds. */
  readonly limitMs?: number;
}
