/**
 * The callbacks that handlers have made. A run may make several tokens for one place: after a restart, or as a fork. Only the
 * newest one leads to where the run waits.
 */
import type { CallbackRef } from "../core/contract/callback.ts";
import { placeName } from "../core/replay/demand.ts";

export class MadeCallbacks {
  /** The key is the run and the place. The order is that in which the first token of each place was made. */
  readonly #newest = new Map<string, { readonly token: string; readonly ref: CallbackRef }>();

  note(token: string, ref: CallbackRef): void {
    this.#newest.set(`${ref.runId} ${placeName(ref)}`, { token, ref });
  }

  /** Answers the token of each place that is wanted. */
  tokens(isWanted: (ref: CallbackRef) => boolean = () => true): readonly string[] {
    return [...this.#newest.values()].flatMap(({ token, ref }) => (isWanted(ref) ? [token] : []));
  }
}
