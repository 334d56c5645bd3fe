/**
 * The clock that every host of JavaScript has. It is the default wherever no other clock is given. It stands on the
 * lowest floor that may wait for anything, since each floor above has such a default.
 */
import type { WallClock } from "../core/ports.ts";

export const hostClock: WallClock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};
