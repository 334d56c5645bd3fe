/** Bytes as text (RFC 4648 §4 and §5). Hosts do not all have `Uint8Array.prototype.toBase64` yet. */

/** Makes base64. It works in pieces, since a call takes only so many arguments. */
export function toBase64(bytes: Uint8Array): string {
  const piece = 8_192;
  let binary = "";
  for (let at = 0; at < bytes.length; at += piece) binary += String.fromCharCode(...bytes.subarray(at, at + piece));
  return btoa(binary);
}

/** Throws for what is no such text. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** Makes base64 for URLs, without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Undefined for what is no such text. */
export function fromBase64Url(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return undefined;
  try {
    return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
}
