import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Workflow } from "../core/contract.ts";

/** SHA-256 in hexadecimal. It becomes part of paths that are stored, so it never changes. */
export function digestOf(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/**
 * Names the code of these workflows, in whatever order they are given: by the text of their handlers. What a handler
 * imports is not in there.
 */
export function codeDigest(workflows: readonly Workflow[]): string {
  const texts = workflows.map(({ contract, handle }) =>
    JSON.stringify([contract.name, contract.version, String(handle)]),
  );
  return digestOf(texts.toSorted().join()).slice(0, 16);
}
