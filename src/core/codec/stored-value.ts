/**
 * The way of a value into the database, and the way back. Every input, result, signal, answer and error passes here, and
 * what is to happen to all of them on that way has its place here. What HTTP sends passes by the codec alone.
 *
 * The same value gives the same text, since Postgres compares texts to tell whether the same was sent again (`is_same`).
 */
import { decode, elsewhereMark, encode, sealedMark, sensitiveMark } from "./codec.ts";
import type { ErrorValue } from "./error-value.ts";

export { describeStored, sealedMark } from "./codec.ts";

interface ToStoreOptions {
  /** The subject of an error's sentence: `the result of step "charge"`. */
  readonly what: string;
  /** The most bytes that the text may take in UTF-8. Default: 1 MiB. */
  readonly maxBytes?: number;
  /** Whether nobody is shown the value. Default: false. */
  readonly isSensitive?: boolean | undefined;
}

/**
 * Makes the text that the database keeps of a value.
 *
 * @throws LayoverError `unstorable_value`, `too_deep`, `value_too_large`
 */
export function toStored(value: unknown, { isSensitive = false, ...options }: ToStoreOptions): string {
  return `${isSensitive ? sensitiveMark : ""}${encode(value, options)}`;
}

/** The text without the mark of a sensitive value. */
export function unmarked(text: string): string {
  return isMarkedSensitive(text) ? text.slice(sensitiveMark.length) : text;
}

/** Whether nobody is to be shown the value of this text. */
export function isMarkedSensitive(text: string): boolean {
  return text.startsWith(sensitiveMark);
}

/** Makes the text that the database keeps of an error. */
export function toStoredError(error: ErrorValue): string {
  return toStored(error, { what: "the error" });
}

/**
 * Makes the value of a text that the database kept, anew on each call. `what`: the subject of an error's sentence.
 *
 * @throws LayoverError `undecodable_value`
 */
export function fromStored(text: string, what = "the stored value"): unknown {
  return decode(text, { what });
}

/** Whether a text has to be opened or fetched before it is read (layover/encryption, layover/store). */
export function isElsewhere(text: string): boolean {
  return text.startsWith(elsewhereMark);
}

/** Whether a text is encrypted (layover/encryption), so that it must be opened before it is read. */
export function isSealed(text: string): boolean {
  return text.startsWith(sealedMark);
}
