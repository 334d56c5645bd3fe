/**
 * AES-256-GCM: by Node's own cipher where the host has it, otherwise by WebCrypto. They make the same bytes. A small value takes
 * WebCrypto several times as long, since each call goes to another thread and back.
 */
import type { AesKey } from "./keys.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const tagBytes = 16;
const node = globalThis.process?.getBuiltinModule?.("node:crypto");

/** Answers the ciphertext with its tag. */
export async function encrypt({ key, bytes }: AesKey, nonce: Bytes, about: Bytes, plain: Bytes): Promise<Bytes> {
  if (node === undefined) {
    const terms = { name: "AES-GCM", iv: nonce, additionalData: about };
    return new Uint8Array(await crypto.subtle.encrypt(terms, key, plain));
  }
  const cipher = node.createCipheriv("aes-256-gcm", bytes, nonce);
  cipher.setAAD(about);
  const sealed = new Uint8Array(plain.length + tagBytes);
  sealed.set(cipher.update(plain));
  cipher.final();
  sealed.set(cipher.getAuthTag(), plain.length);
  return sealed;
}

/** Rejects where the tag does not fit. */
export async function decrypt({ key, bytes }: AesKey, nonce: Bytes, about: Bytes, sealed: Bytes): Promise<Bytes> {
  if (node === undefined) {
    const terms = { name: "AES-GCM", iv: nonce, additionalData: about };
    return new Uint8Array(await crypto.subtle.decrypt(terms, key, sealed));
  }
  const at = sealed.length - tagBytes;
  if (at < 0) throw new Error("it has no tag");
  const decipher = node.createDecipheriv("aes-256-gcm", bytes, nonce, { authTagLength: tagBytes });
  decipher.setAAD(about);
  decipher.setAuthTag(sealed.subarray(at));
  const plain = new Uint8Array(decipher.update(sealed.subarray(0, at)));
  decipher.final();
  return plain;
}
