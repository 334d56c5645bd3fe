/**
 * Does one pass of the scheduler. A schedule asks for it, the sweep, a deploy, or whoever calls `wake`. It arms nothing
 * before it looks: if it did, each tick would bring another one for ever.
 */
import { minuteRingsAt } from "../../core/waking.ts";
import { sweepFound } from "../../engine/events.ts";
import { readTickEvent, type TickEvent } from "./messages.ts";
import type { LambdaContext } from "./options.ts";
import { type ServedFunctions, waitUntil } from "./served-functions.ts";

/**
 * A tick that fails arms the next one. Rejects only if that fails, too: then Lambda invokes it again, after one and two
 * minutes, and at last puts its event in the queue.
 */
export async function onTick(served: ServedFunctions, event: unknown, context: LambdaContext): Promise<void> {
  const { environment, report, schedules } = served;
  const asked = readTickEvent(event);
  environment.wake();
  try {
    if (!(await isTicked(served, asked, context))) await schedules().ringAgain(asked);
  } catch (error) {
    report(error, "ticking");
    try {
      await schedules().ringAgain(asked);
    } finally {
      await environment.reload();
    }
  } finally {
    environment.rest();
  }
}

/** Answers whether all went well. False: AWS has not taken everything that was dispatched. */
async function isTicked(served: ServedFunctions, asked: TickEvent, context: LambdaContext): Promise<boolean> {
  const { runtime, environment, begin, tell } = served;
  const { minute, readyUntil, sweep = false } = asked;
  // Its runs are due when the minute begins, by the database's clock, which may be a little behind.
  if (minute !== undefined)
    await waitUntil(runtime, Math.min(minuteRingsAt(minute), runtime.host.now() + longestWaitMs));
  const { tick, end } = begin(await environment.load(), context, { armsAgain: true });
  try {
    const { overdue, hasSeenAll, triedThrough } = await tick(readyUntil);
    const looksAtAll = hasSeenAll || triedThrough !== undefined;
    // A sweep comes at any time. What became due a moment ago has an alarm that may ring up to three minutes late.
    if (sweep && overdue > 0 && !looksAtAll) tell(sweepFound(overdue));
  } catch (error) {
    await end();
    throw error;
  }
  return await end();
}

/** The longest wait for the beginning of its minute, if the clocks of AWS differ. */
const longestWaitMs = 5_000;
