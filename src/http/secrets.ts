/**
 * The root secrets (`LAYOVER_SECRET`), and the one place that signs. Each purpose has a key of its own, derived from the
 * root by HKDF-SHA256, so that nothing signed for one purpose counts for another.
 *
 * The first secret signs and all of them verify: put a new one in front of the old one, and take the old one away when
 * nothing signed by it is in use any more.
 *
 * Synchronous, unlike WebCrypto: a callback's URL is made inside a handler, where nothing may be awaited.
 */
import { hkdf } from "@noble/hashes/hkdf.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { fromBase64Url, toBase64Url } from "../core/base64.ts";
import { LayoverError } from "../core/errors.ts";
import { utf8Size } from "../core/utf8-size.ts";
import { areEqual } from "./equal-texts.ts";

export type Purpose =
  | "callback"
  | "api key"
  | "internal"
  | "arm"
  | "webhook"
  | "alarm"
  | "wake"
  | "session"
  | "delivery";

/** What signs texts, and verifies what it has signed. */
export interface Signer {
  sign(purpose: Purpose, text: string): string;
  verify(purpose: Purpose, text: string, mac: string): boolean;
}

const leastBytes = 32;
const leastDifferentCharacters = 12;

export class Secrets implements Signer {
  readonly #roots: readonly Uint8Array[];
  readonly #keys = new Map<Purpose, readonly Uint8Array[]>();

  /**
   * Each secret is a text of at least 32 bytes in hex, base64 or, failing these, UTF-8. Undefined ones are left out, so
   * that the old secret's variable may be missing.
   *
   * @throws LayoverError `invalid_secret`
   * @example new Secrets([env.LAYOVER_SECRET, env.LAYOVER_SECRET_OLD])
   */
  constructor(secrets: readonly (string | undefined)[]) {
    const given = secrets.flatMap((secret) => secret?.trim() || []);
    if (given.length === 0) throw invalidSecret("there is no root secret");
    this.#roots = given.map(checkSecret);
  }

  /** The MAC of `text`, as base64url. */
  sign(purpose: Purpose, text: string): string {
    return macOf(this.#firstKey(purpose), text);
  }

  /** The MACs of `text` by all secrets, that of the first one first. */
  macsOf(purpose: Purpose, text: string): readonly string[] {
    return this.keysFor(purpose).map((key) => macOf(key, text));
  }

  /** The key of a purpose, as base64url, for somebody outside who must not have the root secret. */
  keyFor(purpose: Purpose): string {
    return toBase64Url(this.#firstKey(purpose));
  }

  /** Verifies a MAC in constant time. */
  verify(purpose: Purpose, text: string, mac: string): boolean {
    return isMacOf(this.keysFor(purpose), text, mac);
  }

  #firstKey(purpose: Purpose): Uint8Array {
    const [key] = this.keysFor(purpose);
    if (key === undefined) throw invalidSecret("there is no root secret");
    return key;
  }

  /** The keys of a purpose: that of the first secret, then those of the others. */
  keysFor(purpose: Purpose): readonly Uint8Array[] {
    const known = this.#keys.get(purpose);
    if (known !== undefined) return known;
    const keys = this.#roots.map((root) => hkdf(sha256, root, utf8ToBytes("layover"), utf8ToBytes(purpose), 32));
    this.#keys.set(purpose, keys);
    return keys;
  }
}

/** A signer by keys that {@link Secrets.keyFor} made for one purpose. The first one signs, and all of them verify. */
export class DerivedKeys implements Signer {
  readonly #purpose: Purpose;
  readonly #keys: readonly Uint8Array[];

  /** @throws LayoverError `invalid_secret` */
  constructor(purpose: Purpose, keys: readonly (string | undefined)[]) {
    this.#purpose = purpose;
    this.#keys = keys.flatMap((key) => (key?.trim() ? [bytesOfKey(key.trim())] : []));
    if (this.#keys.length === 0) throw invalidKey("there is no key");
  }

  sign(purpose: Purpose, text: string): string {
    const [key] = this.#keys;
    if (key === undefined || purpose !== this.#purpose) throw invalidKey(`there is no key of the purpose "${purpose}"`);
    return macOf(key, text);
  }

  verify(purpose: Purpose, text: string, mac: string): boolean {
    return purpose === this.#purpose && isMacOf(this.#keys, text, mac);
  }
}

/** Compares with the MAC by each key, in constant time. */
function isMacOf(keys: readonly Uint8Array[], text: string, mac: string): boolean {
  let isValid = false;
  for (const key of keys) isValid = areEqual(macOf(key, text), mac) || isValid;
  return isValid;
}

function bytesOfKey(key: string): Uint8Array {
  const bytes = /^[\w-]{43}$/.test(key) ? fromBase64Url(key) : undefined;
  if (bytes === undefined) throw invalidKey("it is no key that layover has made");
  return bytes;
}

function invalidKey(message: string): LayoverError {
  return new LayoverError("invalid_secret", message, {
    hint: "Make it by `npx layover keys alarm`, where LAYOVER_SECRET is that of the deployment.",
  });
}

function macOf(key: Uint8Array, text: string): string {
  return toBase64Url(hmac(sha256, key, utf8ToBytes(text)));
}

function checkSecret(secret: string): Uint8Array {
  const bytes = bytesIn(secret);
  if (bytes < leastBytes) throw invalidSecret(`a root secret holds ${bytes} bytes, and ${leastBytes} are needed`);
  const isHex = /^[0-9a-f]+$/i.test(secret);
  if (new Set(secret).size < (isHex ? 8 : leastDifferentCharacters))
    throw invalidSecret("a root secret repeats a few characters");
  return utf8ToBytes(secret);
}

/** How many bytes the text stands for, if somebody made it by `openssl rand`. */
function bytesIn(secret: string): number {
  if (/^[0-9a-f]+$/i.test(secret)) return Math.floor(secret.length / 2);
  if (/^[A-Za-z0-9+/_-]+=*$/.test(secret)) return Math.floor((secret.replaceAll("=", "").length * 3) / 4);
  return utf8Size(secret);
}

function invalidSecret(message: string): LayoverError {
  return new LayoverError("invalid_secret", message, {
    hint: "Make one with `openssl rand -base64 32`, and keep it in LAYOVER_SECRET.",
  });
}
