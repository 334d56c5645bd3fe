/** The error of a tick that comes when its process is about to end. */
import { LayoverError } from "../core/errors.ts";

/** Refuses a tick in a process that is about to end. */
export function closing(): LayoverError {
  return new LayoverError("closing", "this process is about to end, so it looks for no runs any more", {
    hint: "Ask another process. If there is none, the next one looks for runs when it starts.",
  });
}
