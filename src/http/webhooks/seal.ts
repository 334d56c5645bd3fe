/**
 * Seals what goes through a queue of the host's, by AES-256-GCM, so that nobody who can read or write there learns of an event
 * or adds one. The key is derived from the root secret for this purpose alone. While the secret is being replaced, what the
 * old one has sealed is opened, too.
 */
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { fromBase64Url, toBase64Url } from "../../core/base64.ts";
import { LayoverError } from "../../core/errors.ts";
import type { Secrets } from "../secrets.ts";

const version = "1.";
const nonceBytes = 12;

/** `about`: what must be the same when it is opened. */
export async function seal(text: string, { secrets, about }: SealTerms): Promise<string> {
  const [key = new Uint8Array()] = secrets.keysFor("delivery");
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes));
  const sealed = await crypto.subtle.encrypt(algorithm(nonce, about), await imported(key), utf8ToBytes(text));
  return `${version}${toBase64Url(nonce)}.${toBase64Url(new Uint8Array(sealed))}`;
}

/** @throws LayoverError `invalid_secret` if no secret of this deployment has sealed it, or if it was changed */
export async function open(sealed: string, { secrets, about }: SealTerms): Promise<string> {
  const [nonce = "", text = ""] = sealed.startsWith(version) ? sealed.slice(version.length).split(".") : [];
  const [nonceIn, bytes] = [fromBase64Url(nonce), fromBase64Url(text)];
  if (nonceIn?.length === nonceBytes && bytes !== undefined) {
    for (const key of secrets.keysFor("delivery")) {
      try {
        const opened = await crypto.subtle.decrypt(
          algorithm(new Uint8Array(nonceIn), about),
          await imported(key),
          new Uint8Array(bytes),
        );
        return new TextDecoder().decode(opened);
      } catch {
        // Another secret may have sealed it.
      }
    }
  }
  throw new LayoverError("invalid_secret", "a delivery that came through the queue was not sealed by this deployment", {
    hint: "If the root secret was replaced, keep the old one beside it for a week: LAYOVER_SECRET_OLD.",
  });
}

export interface SealTerms {
  readonly secrets: Secrets;
  readonly about: string;
}

function algorithm(iv: Uint8Array<ArrayBuffer>, about: string) {
  return { name: "AES-GCM", iv, additionalData: utf8ToBytes(about) };
}

async function imported(key: Uint8Array): Promise<CryptoKey> {
  return await crypto.subtle.importKey("raw", new Uint8Array(key), "AES-GCM", false, ["encrypt", "decrypt"]);
}
