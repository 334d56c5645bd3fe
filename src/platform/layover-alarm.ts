/**
 * The Durable Object that rings a Worker which sleeps. Export it beside what `serve` makes, and bind it:
 *
 *   export { LayoverAlarm } from "layover/cloudflare";
 *   export default serve<Env>({ …, alarm: (env) => env.ALARM });
 *
 * An object runs the script of its Worker, in which `serve` was called: so when it rings it ticks itself, without a
 * request, a signature, or knowledge of where that Worker is mounted. What it keeps: see minutes.ts.
 */
import type { AlarmNamespace } from "./cloudflare-options.ts";
import { type AlarmLook, type AlarmMessage, type MinuteStorage, Minutes } from "./minutes.ts";

/** Has a Worker tick, with the script's bindings. False: that has failed, and was reported. */
type Ring = (env: object) => Promise<boolean>;

const rings = new Set<Ring>();

/** What `serve` makes ticks when an alarm of this script rings. */
export function ringsWith(ring: Ring): void {
  rings.add(ring);
}

/** As the runtime makes it. */
export class LayoverAlarm {
  readonly #minutes: Minutes;

  constructor(state: { readonly storage: MinuteStorage }, env: object) {
    this.#minutes = new Minutes({
      storage: state.storage,
      now: Date.now,
      ring: () => ringAll(env),
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

/** Asks an object by its binding. */
export async function askAlarm(
  namespace: AlarmNamespace,
  shard: number,
  message: AlarmMessage,
): Promise<AlarmLook | null> {
  const request = { method: "POST", body: JSON.stringify(message) };
  const response = await namespace.getByName(`layover-${shard}`).fetch("https://layover.internal/", request);
  if (!response.ok) throw new Error(`the Durable Object of alarms answered ${response.status}`);
  return (await response.json()) as AlarmLook | null;
}

async function ringAll(env: object): Promise<boolean> {
  if (rings.size === 0) throw new Error("the script of LayoverAlarm serves no Worker with an `alarm`");
  return (await Promise.all([...rings].map((ring) => ring(env)))).every((isDone) => isDone);
}
