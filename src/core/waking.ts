/**
 * The motion minute. A run in motion is due at a whole minute, so that its turns, many in a minute, leave
 * `due_at` unchanged: no index is written, the update stays HOT. At least 60 s ahead, so that the
 * scheduler never looks at a run whose turn was only just dispatched.
 */

const minuteMs = 60_000;

/** The first whole minute at least 60 s after `nowMs`. Both in epoch milliseconds. */
export function motionMinute(nowMs: number): number {
  return Math.ceil(nowMs / minuteMs + 1) * minuteMs;
}

/**
 * The distance from which a look need not be exact. Such a look comes a little early, and dispatches what it finds for
 * the deadline itself.
 */
const farMs = 2 * minuteMs;

/**
 * The instant at which the scheduler looks because of a deadline, in epoch milliseconds. It is early, never late. For a
 * far deadline it is the whole minute below, so that many deadlines share one look.
 */
export function lookFor(deadlineMs: number, nowMs: number): number {
  return deadlineMs - nowMs > farMs ? Math.floor(deadlineMs / minuteMs) * minuteMs : deadlineMs;
}

/**
 * The same for a run's timeout. Few runs live until their timeout, so it must cost next to nothing. The looks come
 * closer and closer to the timeout (some five looks for 30 days). Each look is at a whole multiple of about an eighth
 * of the distance, so that runs with different timeouts share looks.
 */
export function lookForTimeout(timeoutMs: number, nowMs: number): number {
  const distanceMs = timeoutMs - nowMs;
  if (distanceMs <= farMs) return timeoutMs;
  const gridMs = minuteMs * 2 ** Math.max(0, Math.floor(Math.log2(distanceMs / 8 / minuteMs)));
  return Math.floor(timeoutMs / gridMs) * gridMs;
}
