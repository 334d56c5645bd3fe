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

/** Beyond this a look need not be exact: it comes a little before the deadline, and what it finds is dispatched for then. */
const farMs = 2 * minuteMs;

/**
 * When the scheduler is to look because of a deadline: a far one at the whole minute below, which many share. Early, never
 * late. Epoch milliseconds.
 */
export function lookFor(deadlineMs: number, nowMs: number): number {
  return deadlineMs - nowMs > farMs ? Math.floor(deadlineMs / minuteMs) * minuteMs : deadlineMs;
}

/**
 * The same for a run's timeout, which hardly ever comes to pass: a run that is over by then is to have cost next to nothing.
 * So the looks come closer and closer to it (30 days: some five), at instants that runs share whose timeouts differ: the
 * whole multiples of about an eighth of its distance.
 */
export function lookForTimeout(timeoutMs: number, nowMs: number): number {
  const distanceMs = timeoutMs - nowMs;
  if (distanceMs <= farMs) return timeoutMs;
  const gridMs = minuteMs * 2 ** Math.max(0, Math.floor(Math.log2(distanceMs / 8 / minuteMs)));
  return Math.floor(timeoutMs / gridMs) * gridMs;
}
