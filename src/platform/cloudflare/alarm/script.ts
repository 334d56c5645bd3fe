/**
 * Everything that one script serves. Its Durable Objects and its Worker run the same script, and all calls of `serve` in
 * it share the minutes. So a minute rings for all of them.
 */
import type { Report } from "../../../engine/events.ts";
import type { Code } from "./minutes.ts";

export interface Ticked {
  /** How many runs were due. */
  readonly due: number;
  /** Whether everything that was dispatched was taken. */
  readonly isWhole: boolean;
}

/** What one call of `serve` does with the bindings of the script. */
export interface Served {
  /** Ticks. It reports why if that has not ended well, and rejects. `readyUntil`: as for the engine's tick. */
  readonly tick: (env: object, readyUntil: number | undefined) => Promise<Ticked>;
  readonly report: Report;
  readonly codeOf: (env: object) => Code;
}

/** A tick that failed. The Worker that ticked has reported the cause, so nobody reports this error again. */
export class TickFailed extends Error {
  override readonly name = "TickFailed";

  constructor(cause: unknown) {
    super(`a tick failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** The calls of `serve` in one script. */
export type Script = Set<Served>;

/** The script that this module is a part of. */
export const thisScript: Script = new Set();

/**
 * Ticks for everything that a script serves.
 *
 * @param readyUntil as for the engine's tick
 * @throws TickFailed
 */
export async function tickAll(script: Script, env: object, readyUntil?: number): Promise<Ticked> {
  if (script.size === 0) throw new Error("the script of LayoverAlarm serves no Worker with an `alarm`");
  const ends = await Promise.allSettled([...script].map((one) => one.tick(env, readyUntil)));
  const ticks = ends.map((end) => {
    if (end.status === "rejected") throw new TickFailed(end.reason);
    return end.value;
  });
  return { due: ticks.reduce((sum, { due }) => sum + due, 0), isWhole: ticks.every(({ isWhole }) => isWhole) };
}

/** Tells each Worker of a script that an object could not ring. Without a Worker, only the console is left. */
export function reportRing(script: Script, error: unknown): void {
  if (error instanceof TickFailed) return;
  if (script.size === 0) console.error("error while an alarm rang:", error);
  for (const { report } of script) report(error, "ringing an alarm");
}

/** The code of everything that a script serves. */
export function codeOf(script: Script, env: object): Code {
  const codes = [...script].map((one) => one.codeOf(env));
  return {
    id: codes.map(({ id }) => id).join("\n"),
    carries: codes.flatMap(({ carries }, place) => carries.map((version) => `${place}/${version}`)),
  };
}
