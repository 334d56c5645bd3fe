/** Time that goes on by itself, and that is turned ahead by hand as well. */
const { setInterval, setTimeout } = globalThis;

/** How often a timer looks what time it is. What is shorter than this is not turned. */
const lookMs = 20;

/**
 * Sets a timer by such a clock. It is one of Node's, so that all that Node offers for timers holds for it.
 *
 * @param now says the time in milliseconds
 */
export function turnedTimeout(now: () => number, act: () => void, ms = 0): NodeJS.Timeout {
  if (!(ms > lookMs)) return setTimeout(act, ms);
  const at = now() + ms;
  const timer = setInterval(() => {
    if (now() < at) return;
    clearInterval(timer);
    act();
  }, lookMs);
  return timer;
}
