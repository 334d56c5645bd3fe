/** What verifiers have in common: MACs over raw bytes, compared in constant time, and bodies that are read only after that. */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type CHash, utf8ToBytes } from "@noble/hashes/utils.js";
import { checkDepth } from "../../../client/over-http/json-depth.ts";
import { toBase64Url } from "../../../core/base64.ts";
import { areEqual } from "../../equal-texts.ts";
import type { SecretOf, SenderRequest, Verdict } from "../verifier.ts";

export type Encoding = "hex" | "base64";

/** How far a sender's clock and this host's may be apart, on the way included. The senders' own libraries use the same. */
const windowMs = 5 * 60 * 1_000;

const longestHeader = 4_096;
/** How many signatures of one header are looked at. Senders send two while a secret is changed. */
const mostSignatures = 16;
/** How many levels an event may have. */
const mostLevels = 1_000;

export type Refused = Extract<Verdict<never>, { outcome: "refused" }>;

export function refused(reason: string): Refused {
  return { outcome: "refused", reason };
}

export interface Signed {
  /** The secrets' bytes. */
  readonly keys: readonly Uint8Array[];
  /** Default: SHA-256. */
  readonly hash?: CHash;
  readonly encoding: Encoding;
  /** What is signed. */
  readonly text: Uint8Array;
  /** The signatures that the sender gives, one of which must be right. */
  readonly signatures: readonly string[];
}

/** Compares each secret with each signature, whatever the ones before showed. */
export function isSigned({ keys, hash = sha256, encoding, text, signatures }: Signed): boolean {
  let isRight = false;
  for (const key of keys) {
    const mac = encoded(hmac(hash, key, text), encoding);
    for (const signature of signatures.slice(0, mostSignatures)) isRight = areEqual(mac, signature) || isRight;
  }
  return isRight;
}

/** The secrets that are set, as bytes. */
export function keysOf<Env>(
  secretOf: SecretOf<Env>,
  env: Env,
  bytesOf: (secret: string) => Uint8Array = utf8ToBytes,
): readonly Uint8Array[] {
  const found = secretOf(env);
  const secrets = typeof found === "object" ? found : [found];
  return secrets.flatMap((secret) => (secret === undefined || secret === "" ? [] : [bytesOf(secret)]));
}

/** Reads a header that must be there. A longer one than any sender's counts as missing. */
export function header({ headers }: SenderRequest, name: string): string | undefined {
  const value = headers.get(name) ?? "";
  return value === "" || value.length > longestHeader ? undefined : value;
}

/** Whether a sender's time, in seconds since 1970, is of now. */
export function isOfNow(seconds: string, now: number): boolean {
  return /^\d{1,12}$/.test(seconds) && Math.abs(Number(seconds) * 1_000 - now) <= windowMs;
}

/** Puts a text before the body's bytes. */
export function before(text: string, body: Uint8Array): Uint8Array {
  const first = utf8ToBytes(text);
  const both = new Uint8Array(first.length + body.length);
  both.set(first);
  both.set(body, first.length);
  return both;
}

/** Reads a body whose signature was right. */
export function textOf(body: Uint8Array): string | Refused {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return refused("its body is not valid UTF-8");
  }
}

/** Reads JSON from a body whose signature was right. */
export function jsonOf(body: Uint8Array): { readonly value: unknown } | Refused {
  const text = textOf(body);
  return typeof text === "string" ? jsonIn(text) : text;
}

export function jsonIn(text: string): { readonly value: unknown } | Refused {
  try {
    checkDepth(text, "the body", mostLevels);
    return { value: JSON.parse(text) };
  } catch {
    return refused("its body is not JSON");
  }
}

/** A field of an object, if it is a text. */
export function textIn(value: unknown, name: string): string | undefined {
  const { [name]: found }: Readonly<Record<string, unknown>> = Object(value);
  return typeof found === "string" && found !== "" ? found : undefined;
}

function encoded(bytes: Uint8Array, encoding: Encoding): string {
  if (encoding === "hex") return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const text = toBase64Url(bytes).replaceAll("-", "+").replaceAll("_", "/");
  return text.padEnd(Math.ceil(text.length / 4) * 4, "=");
}
