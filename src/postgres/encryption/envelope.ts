/**
 * One encrypted text: `2sealed.<key id>.<base64url of nonce, ciphertext and tag>`, by AES-256-GCM. What else it is bound to
 * (`about`) is authenticated and not stored.
 */
import { sealedMark } from "../../core/codec/stored-value.ts";
import { decrypt, encrypt } from "./cipher.ts";
import type { KeyRing } from "./keys.ts";

/** What a text is bound to. It is opened with the same only. */
export interface About {
  readonly namespace: string;
  readonly kind: string;
  /** A run, or a place in a run. Empty: the text may move to another run. */
  readonly scope: string;
}

/** Sealed texts within another text, such as the reason within an error that SQL made. */
export const sealedWithin = /2sealed\.[\w-]{1,32}\.[\w-]+/g;

/**
 * Seals a text. Its nonce is random, unless `isSteady`: then the same text gives the same envelope, as long as the current key
 * is the same, so that the database can group by it.
 */
export async function seal(ring: KeyRing, text: string, about: About, isSteady: boolean): Promise<string> {
  const { current } = ring;
  const bound = boundTo(about);
  const key = await ring.keyOf(current, about.namespace);
  if (key === undefined) throw new Error("the current key is gone");
  const nonce = isSteady ? await ring.macOf("nonce", about.namespace, `${bound}\n${text}`) : undefined;
  return `${sealedMark}${current}.${await encrypt(key, bound, text, nonce)}`;
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
