/**
 * AES-256-GCM and HMAC-SHA256: by Node's own crypto where the host has it, otherwise by WebCrypto. They make the same bytes. A
 * small value takes WebCrypto several times as long, since each call goes to another thread and back.
 */
import type { KeyObject } from "node:crypto";
import { fromBase64Url, toBase64Url } from "../../core/base64.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A key of AES or of HMAC, as this host takes it. */
export type Key = { readonly web: CryptoKey } | { readonly node: KeyObject };

const nonceBytes = 12;
const tagBytes = 16;
const node = globalThis.process?.getBuiltinModule?.("node:crypto");
const utf8 = new TextEncoder();

/** Is called once for each key. Node takes 30 µs for a cipher of bare bytes, and 6 µs for one of a key that was made before. */
export async function keyFrom(bytes: Bytes, purpose: "AES-GCM" | "HMAC"): Promise<Key> {
  if (node !== undefined) return { node: node.createSecretKey(bytes) };
  const web =
    purpose === "HMAC"
      ? await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
      : await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
  return { web };
}

/** Answers nonce, ciphertext and tag, in base64url: at once by Node's cipher. A nonce that is not given is random. */
export function encrypt(key: Key, about: string, text: string, given?: Bytes): string | Promise<string> {
  const nonce = given?.subarray(0, nonceBytes) ?? newNonce();
  if (node === undefined || "web" in key) return encryptByWeb(webOf(key), about, text, nonce);
  const cipher = node.createCipheriv("aes-256-gcm", key.node, nonce);
  cipher.setAAD(Buffer.from(about));
  const sealed = cipher.update(text, "utf8");
  cipher.final();
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString("base64url");
}

async function encryptByWeb(key: CryptoKey, about: string, text: string, nonce: Bytes): Promise<string> {
  const terms = { name: "AES-GCM", iv: nonce, additionalData: utf8.encode(about) };
  const sealed = new Uint8Array(await crypto.subtle.encrypt(terms, key, utf8.encode(text)));
  const bytes = new Uint8Array(nonceBytes + sealed.length);
  bytes.set(nonce);
  bytes.set(sealed, nonceBytes);
  return toBase64Url(bytes);
}

/** Undefined: the payload is no base64url. Rejects where the tag does not fit. */
export async function decrypt(key: Key, about: string, payload: string): Promise<string | undefined> {
  if (node !== undefined && "node" in key) {
    if (!/^[\w-]*$/.test(payload)) return undefined;
    const bytes = Buffer.from(payload, "base64url");
    const at = bytes.length - tagBytes;
    if (at < nonceBytes) throw new Error("it has no tag");
    const decipher = node.createDecipheriv("aes-256-gcm", key.node, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(about));
    decipher.setAuthTag(bytes.subarray(at));
    const plain = decipher.update(bytes.subarray(nonceBytes, at));
    decipher.final();
    return plain.toString("utf8");
  }
  const bytes = fromBase64Url(payload);
  if (bytes === undefined) return undefined;
  const iv = new Uint8Array(bytes.subarray(0, nonceBytes));
  const terms = { name: "AES-GCM", iv, additionalData: utf8.encode(about) };
  const plain = await crypto.subtle.decrypt(terms, webOf(key), new Uint8Array(bytes.subarray(nonceBytes)));
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(plain);
}

export async function mac(key: Key, text: string): Promise<Bytes> {
  if (node !== undefined && "node" in key)
    return new Uint8Array(node.createHmac("sha256", key.node).update(text, "utf8").digest());
  return new Uint8Array(await crypto.subtle.sign("HMAC", webOf(key), utf8.encode(text)));
}

/**
 * Nonces to come. Node takes 3 µs for random bytes, be they for one nonce or for 64. None is drawn before the first is needed, so
 * an image of a process that has only started holds none.
 */
const nonces = new Uint8Array(64 * nonceBytes);
let used = nonces.length;

function newNonce(): Bytes {
  if (used === nonces.length) {
    crypto.getRandomValues(nonces);
    used = 0;
  }
  used += nonceBytes;
  return nonces.slice(used - nonceBytes, used);
}

function webOf(key: Key): CryptoKey {
  if ("web" in key) return key.web;
  throw new Error("a key of Node's is of no use without Node's crypto");
}
