/** The header by which a client says that two requests are the same one (draft-ietf-httpapi-idempotency-key-header). */

/** The draft has it in quotes, many clients do not. */
export function idempotencyKeyOf(headers: Headers): string | undefined {
  const key = headers.get("idempotency-key") ?? undefined;
  return key && utf8In(key).replace(/^"(.*)"$/, "$1");
}

/**
 * Reads a header as UTF-8. A header has one character for each byte. If these bytes are no UTF-8, the text stays as it
 * is.
 */
function utf8In(header: string): string {
  try {
    const bytes = Uint8Array.from(header, (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return header;
  }
}
