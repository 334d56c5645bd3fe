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
