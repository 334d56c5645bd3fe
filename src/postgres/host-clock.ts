/**
 * The clock that every host of JavaScript has. It is the default wherever no other clock is given. It stands on the
 * lowest floor that may wait for anything, since each floor above has such a default.
 */
import type { HostClock } from "../core/ports.ts";

export const hostClock: HostClock = {
  monotonic: () => performance.now(),
  after: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};
