/** The time limit of a dispatch. A dispatch is only a hint: what it did not deliver in time is found by the scheduler. */
import { LayoverError } from "../core/errors.ts";
import type { Dispatch, HostClock } from "../core/ports.ts";
import { within } from "../core/waits.ts";

const dispatchMs = 15_000;

/**
 * Limits each dispatch to 15 s. The caller has more to do after it, such as ending a lease or answering a request.
 *
 * @throws LayoverError `no_answer`
 */
export function limited(dispatch: Dispatch, host: HostClock): Dispatch {
  return (turns, delayMs) => within(host, dispatchMs, dispatch(turns, delayMs), noAnswer);
}

function noAnswer(): LayoverError {
  return new LayoverError("no_answer", `a dispatch was not answered within ${dispatchMs / 1_000} seconds`, {
    hint: "The next tick dispatches its turns again. If this goes on, check the platform that carries dispatches.",
  });
}
