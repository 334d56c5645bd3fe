/**
 * Tells the database that the same value was sent again, though its encrypted text is another one each time: by a MAC of the
 * value under a key that is not rotated. is_same.sql compares it.
 */
import { canonical } from "../../core/codec/canonical.ts";
import type { KeyRing } from "./keys.ts";

/**
 * Answers the MACs, with points between. Two values are the same if they have one in common: of the text that is stored, of
 * what was sent, or of the text with its keys in order, since their order does not count.
 *
 * `sent`: the digest of what was sent, in hex, if a schema made something else of it (client/sent.ts).
 */
export async function samenessOf(
  ring: KeyRing,
  namespace: string,
  { stored, sent }: { readonly stored: string; readonly sent: string | undefined },
): Promise<string> {
  const digest = hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(stored))));
  const parts = [
    `stored ${digest}`,
    `sent ${sent ?? digest}`,
    ...(sent === undefined ? [`value ${canonical(stored)}`] : []),
  ];
  const macs = await Promise.all(parts.map((part) => ring.macOf("same", namespace, part)));
  return macs.map(hexOf).join(".");
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
