/** Asks again, after these pauses, for what a platform refuses for a moment. Rejects as the last try did. */
import type { HostClock } from "../../core/ports.ts";
import { pause } from "../../core/waits.ts";
import { hostClock } from "../../postgres/host-clock.ts";

export async function persist<Answer>(
  ask: () => Promise<Answer>,
  pausesMs: readonly number[],
  host: HostClock = hostClock,
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
