/**
 * Recognises a start or an answer that is sent again. A schema may draw what it adds (a date, an id), so the same value
 * sent twice may be stored as two values. Then a digest of the sent value is stored beside it.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { toStored, unmarked } from "../core/codec/stored-value.ts";

/** Makes a digest of the sent value. Undefined if the schema changed nothing, or if the sent value cannot be stored. */
export function digestOfSent(sent: unknown, stored: string): string | undefined {
  try {
    const text = toStored(sent, { what: "what was sent" });
    return text === unmarked(stored) ? undefined : bytesToHex(sha256(utf8ToBytes(text)));
  } catch {
    return undefined;
  }
}
