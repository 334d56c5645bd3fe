/** What a platform refuses for a moment is asked for again. */
import type { HostClock } from "../../core/ports.ts";
import { pause } from "../../core/waits.ts";

/** Asks again after each of these pauses, until it gets an answer. Rejects as the last try did. */
export async function askAgain<Answer>(
  ask: () => Promise<Answer>,
  pausesMs: readonly number[],
  host: HostClock,
): Promise<Answer> {
  for (const pauseMs of pausesMs) {
    try {
      return await ask();
    } catch {
      await pause(host, pauseMs);
    }
  }
  return await ask();
}
