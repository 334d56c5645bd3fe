/**
 * Mail that cannot be decrypted here. It must not be taken: it would be recorded as it is, and be lost to the deployment that
 * has the key.
 */
import { isSealed } from "../../core/codec/stored-value.ts";
import type { ClaimedRun } from "../../postgres/wire.ts";

/** Says why mail of a claimed run cannot be read. Undefined: all of it can. */
export function unreadableMail({ unreadable, signals, callbacks, children }: ClaimedRun): string | undefined {
  if (unreadable !== undefined) return unreadable;
  const isEncrypted =
    signals?.some(({ payload }) => isSealed(payload)) ||
    callbacks?.some(({ value }) => isSealed(value)) ||
    children?.ends.some(({ value }) => isSealed(value));
  return isEncrypted ? "it is encrypted, and this deployment does not decrypt" : undefined;
}
