/**
 * One encrypted text: `2sealed.<key id>.<base64url of nonce, ciphertext and tag>`, by AES-256-GCM. What else it is bound to
 * (`about`) is authenticated and not stored.
 */
import { sealedMark } from "../../core/codec/stored-value.ts";
import { decrypt, encrypt } from "./cipher.ts";
import type { CurrentKey, KeyRing } from "./keys.ts";

/** What a text is bound to. It is opened with the same only. */
export interface About {
  readonly namespace: string;
  readonly kind: string;
  /** A run, or a place in a run. Empty: the text may move to another run. */
  readonly scope: string;
}

/** Sealed texts within another text, such as the reason within an error that SQL made. */
export const sealedWithin = /2sealed\.[\w-]{1,32}\.[\w-]+/g;

/** Seals a text, at once where the host's cipher does. */
export function seal({ id, key }: CurrentKey, text: string, about: About): string | Promise<string> {
  const sealed = encrypt(key, boundTo(about), text);
  const head = `${sealedMark}${id}.`;
  return typeof sealed === "string" ? head + sealed : sealed.then((later) => head + later);
}

/**
 * Seals a text by a nonce that is a MAC of it. So the same text gives the same envelope, as long as the current key is the same,
 * and the database can group by it.
 */
export async function sealSteadily(
  ring: KeyRing,
  { id, key }: CurrentKey,
  text: string,
  about: About,
): Promise<string> {
  const bound = boundTo(about);
  const nonce = await ring.macOf("nonce", about.namespace, `${bound}\n${text}`);
  return `${sealedMark}${id}.${await encrypt(key, bound, text, nonce)}`;
}

/** Opens a sealed text, or says why it cannot be opened. */
export async function open(
  ring: KeyRing,
  sealed: string,
  about: About,
): Promise<{ readonly text: string } | { readonly why: string }> {
  const [, id = "", payload = ""] = sealed.split(".");
  const key = ring.keyOf(id, about.namespace);
  if (key === undefined)
    return { why: `it is encrypted by the key ${JSON.stringify(id.slice(0, 32))}, which is not given here` };
  try {
    const text = await decrypt(await key, boundTo(about), payload);
    return text === undefined ? { why: "its encrypted text is damaged" } : { text };
  } catch {
    return {
      why: `it is not what the key ${JSON.stringify(id)} encrypted here: the secret is another one, or the row was changed`,
    };
  }
}

function boundTo({ namespace, kind, scope }: About): string {
  return JSON.stringify([namespace, kind, scope]);
}
