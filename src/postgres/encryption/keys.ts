/**
 * The keys of encryption. Each namespace and key id has an AES key of its own, and each namespace two keys for MACs. All are
 * derived from the given secrets by HKDF-SHA256, once.
 */
import { LayoverError } from "../../core/errors.ts";
import { type Key, keyFrom, mac } from "./cipher.ts";

export interface EncryptionKeys {
  /** Id of the key that encrypts. It is stored beside each value, readable. */
  readonly current: string;
  /**
   * Secrets by their ids. All of them decrypt. An id has up to 32 letters, digits, `-` and `_`. A secret is a text of at least
   * 32 characters, made at random: `openssl rand -base64 32`. Undefined ones are left out.
   */
  readonly keys: Readonly<Record<string, string | undefined>>;
  /**
   * A further secret, by which the database tells whether the same was sent again. It stays when keys are rotated: after a
   * change of it, the start of a run with an id that is taken is a conflict, though its input is the same.
   */
  readonly sameness: string | undefined;
}

/** The key that encrypts, in one namespace. */
export interface CurrentKey {
  readonly id: string;
  readonly key: Key;
}

export class KeyRing {
  readonly #current: string;
  readonly #secrets: ReadonlyMap<string, string>;
  readonly #sameness: string;
  readonly #aes = new Map<string, Promise<Key>>();
  readonly #macs = new Map<string, Promise<Key>>();

  /** @throws LayoverError `invalid_secret` */
  constructor({ current, keys, sameness }: EncryptionKeys) {
    const given = Object.entries(keys).flatMap(([id, secret]) => (secret === undefined ? [] : [[id, secret] as const]));
    const strange = given.find(([id]) => !/^[\w-]{1,32}$/.test(id));
    if (strange !== undefined) throw invalid(`the key id ${JSON.stringify(strange[0])} is none`, "Name it as k1.");
    for (const [id, secret] of given) checkSecret(secret, `the key ${JSON.stringify(id)}`);
    this.#secrets = new Map(given);
    if (!this.#secrets.has(current))
      throw invalid(`the current key ${JSON.stringify(current)} is not among the keys`, "Give its secret.");
    this.#current = current;
    this.#sameness = checkSecret(sameness ?? "", "`sameness`");
  }

  async currentOf(namespace: string): Promise<CurrentKey> {
    const id = this.#current;
    const key = await this.keyOf(id, namespace);
    if (key === undefined) throw new Error("the current key is gone");
    return { id, key };
  }

  /** Undefined: there is no key of this id. */
  keyOf(id: string, namespace: string): Promise<Key> | undefined {
    const secret = this.#secrets.get(id);
    if (secret === undefined) return undefined;
    return once(this.#aes, `${id} ${namespace}`, async () =>
      keyFrom(await derive(secret, JSON.stringify(["key", id, namespace])), "AES-GCM"),
    );
  }

  /** Makes a MAC, by another key for each purpose. */
  async macOf(purpose: "same" | "nonce", namespace: string, text: string): Promise<Uint8Array<ArrayBuffer>> {
    const key = await once(this.#macs, `${purpose} ${namespace}`, async () =>
      keyFrom(await derive(this.#sameness, JSON.stringify([purpose, namespace])), "HMAC"),
    );
    return await mac(key, text);
  }
}

const utf8 = new TextEncoder();

function once<Made>(known: Map<string, Promise<Made>>, name: string, make: () => Promise<Made>): Promise<Made> {
  const before = known.get(name);
  if (before !== undefined) return before;
  const made = make();
  known.set(name, made);
  return made;
}

async function derive(secret: string, info: string): Promise<Uint8Array<ArrayBuffer>> {
  const root = await crypto.subtle.importKey("raw", utf8.encode(secret), "HKDF", false, ["deriveBits"]);
  const terms = { name: "HKDF", hash: "SHA-256", salt: utf8.encode("layover encryption"), info: utf8.encode(info) };
  return new Uint8Array(await crypto.subtle.deriveBits(terms, root, 256));
}

function checkSecret(given: string, what: string): string {
  const secret = given.trim();
  if (secret.length < 32) throw invalid(`${what} has ${secret.length} characters, and 32 are needed`);
  if (new Set(secret).size < 8) throw invalid(`${what} repeats a few characters`);
  return secret;
}

function invalid(message: string, hint = "Make one with `openssl rand -base64 32`."): LayoverError {
  return new LayoverError("invalid_secret", `encryption: ${message}`, { hint });
}
