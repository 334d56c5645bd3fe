/**
 * Whether the same was sent again. A schema may draw what it adds (a date, an id), so what is stored tells that only where
 * it is what was sent; elsewhere a digest is stored beside it.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { toStored } from "../core/codec/stored-value.ts";

/** Undefined where it was stored as it was sent, or holds what only a schema makes a value of. */
export function digestOfSent(sent: unknown, stored: string): string | undefined {
  try {
    const text = toStored(sent, { what: "what was sent" });
    return text === stored ? undefined : bytesToHex(sha256(utf8ToBytes(text)));
  } catch {
    return undefined;
  }
}
