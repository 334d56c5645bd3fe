/** The time limit of a dispatch. It is a hint: what it did not ask for in time is the scheduler's. */
import { LayoverError } from "../core/errors.ts";
import type { Dispatch } from "../core/ports.ts";
import { type HostClock, within } from "./clock.ts";

const dispatchMs = 15_000;

/**
 * Waits for a dispatch no longer than 15 s. Whoever dispatches has something else to do after it: to end its lease, to
 * answer a request.
 *
 * @throws LayoverError `no_answer`
 */
export function limited(dispatch: Dispatch, host: HostClock): Dispatch {
  return (turns, delayMs) => within(host, dispatchMs, dispatch(turns, delayMs), noAnswer);
}

function noAnswer(): LayoverError {
  return new LayoverError("no_answer", `a dispatch was not answered within ${dispatchMs / 1_000} seconds`, {
    hint: "The next tick dispatches its turns again. If it goes on, look at the platform that carries dispatches.",
  });
}
