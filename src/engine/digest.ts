/** Digests of texts: of keys that histories are not to show, and of code. */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Workflow } from "../core/contract/contract.ts";
import type { Schedule } from "../core/contract/schedule.ts";

/** Makes the SHA-256 in hexadecimal. It becomes part of stored paths, so it must never change. */
export function digestOf(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/**
 * Names the code of these workflows by the text of their handlers, and that of schedules by what they declare. Their order does
 * not matter. Code that a handler imports does not count.
 */
export function codeDigest(workflows: readonly Workflow[], schedules: readonly Schedule[] = []): string {
  const texts = [
    ...workflows.map(({ contract, handle }) => JSON.stringify([contract.name, contract.version, String(handle)])),
    ...schedules.map(({ name, definition, input }) =>
      JSON.stringify([name, definition, typeof input === "function" ? String(input) : input]),
    ),
  ];
  return digestOf(texts.toSorted().join()).slice(0, 16);
}
