/**
 * Mail that cannot be read here: it is encrypted, or in a store. It must not be taken: it would be recorded as it is, and be lost to
 * the deployment that has the key or the store.
 */
import { isElsewhere } from "../../core/codec/stored-value.ts";
import type { ClaimedRun } from "../../postgres/wire.ts";

/** Says why mail of a claimed run cannot be read. Undefined: all of it can. */
export function unreadableMail({ unreadable, signals, callbacks, children }: ClaimedRun): string | undefined {
  if (unreadable !== undefined) return unreadable;
  const cannotBeRead =
    signals?.some(({ payload }) => isElsewhere(payload)) ||
    callbacks?.some(({ value }) => isElsewhere(value)) ||
    children?.ends.some(({ value }) => isElsewhere(value));
  return cannotBeRead ? "it is encrypted or in a store, and this deployment has no key or store for it" : undefined;
}
