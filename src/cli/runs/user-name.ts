/** The name of whoever asks, if they give none. */
import { userInfo } from "node:os";

/** Undefined: this machine has no name for its user, as in some containers. */
export function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
