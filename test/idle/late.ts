import { setTimeout as delay } from "node:timers/promises";

/** Rejects after this time. It keeps no process alive. */
export async function late(withinMs: number): Promise<never> {
  await delay(withinMs, undefined, { ref: false });
  throw new Error(`the run that was due is not awake within ${withinMs / 1_000} s`);
}
