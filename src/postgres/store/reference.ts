/** The text that the database keeps in place of a large value: `2stored.<bytes>.<SHA-256 in hex>.<key>`. */

export interface Reference {
  /** The size of the stored text in UTF-8. */
  readonly bytes: number;
  readonly digest: string;
  readonly key: string;
}

/** SQL knows references by it, too (tell_parent). No value of a user's is stored as a text that begins with it. */
const mark = "2stored.";

export function writeReference({ bytes, digest, key }: Reference): string {
  return `${mark}${bytes}.${digest}.${key}`;
}

/** Undefined: the text is no reference. */
export function readReference(text: string): Reference | undefined {
  if (!text.startsWith(mark)) return undefined;
  const [, bytes, digest, key] = /^2stored\.(\d{1,12})\.([0-9a-f]{64})\.(.+)$/s.exec(text) ?? [];
  return bytes === undefined || digest === undefined || key === undefined
    ? undefined
    : { bytes: Number(bytes), digest, key };
}

export async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
