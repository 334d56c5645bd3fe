/** Runs that are due here, and whose code is elsewhere: a tick rings there. */
import { minuteMs, motionMinute, ringAgainMs } from "../../core/waking.ts";
import type { DueAnswer } from "../../postgres/wire-scheduler.ts";
import type { EngineContext } from "../engine-context.ts";
import type { TimeLimit } from "./time-limit.ts";

/**
 * Rings where the code is of what is due and not carried here: perhaps only an alarm of this host stood for it. If that fails,
 * a tick comes again, after the time that the first of it is late by now: a minute at least, ten at most. So it does if another
 * build of this host has the code: which of the two gets a ring is for the host to say. A tick that was rung for rings nowhere.
 */
export async function ringElsewhere(
  { carriers, options }: EngineContext,
  limit: TimeLimit,
  { page: { now, elsewhere }, isRung }: { readonly page: DueAnswer; readonly isRung: boolean },
): Promise<void> {
  const due = elsewhere ?? [];
  const isDueHere = due.some(({ address }) => address === options.deployment?.wakeAddress);
  const addresses = isRung ? [] : due.map(({ address }) => address);
  if ((await limit.wait(() => carriers.ring(addresses, now))) && !isDueHere) return;
  const lateMs = now - Math.min(...due.map(({ dueAt }) => dueAt));
  await limit.wait(() => options.calls.alarms.arm([motionMinute(now + ringAgainMs(lateMs) - minuteMs)]));
}
