/**
 * Values <-> the text that Postgres keeps.
 *
 * The first character says how to read the rest. `1` is JSON in which an object with the key `$` is a tag:
 *
 *     1{"charge":"c1"}                                   plain JSON stays plain and readable
 *     1{"at":{"$":"Date","v":"2026-11-20T10:00:00.000Z"}}
 *     1{"$":"undefined"}                                 tags are named as by `typeof`, or by their class
 *     1{"$":"Object","v":{"$":"mine"}}                   the user's own object that has the key `$`
 *
 * `3sensitive.` and one of these: nobody is shown the value, only the code of the workflow gets it.
 *
 * `0` is plain JSON, as somebody writes it in SQL. `2sealed.` is encrypted, and `2stored.` names a value in a store: both are
 * opened before they come here (layover/encryption, layover/store). `!`
 * stands for what could not be opened, and says why; it is never stored.
 *
 * Kept: all of JSON; `undefined`, NaN, ±Infinity, -0, bigint; Date, Map, Set, URL, Uint8Array, ArrayBuffer
 * and Error. An object counts by its own enumerable text keys: one without a prototype comes back with one,
 * a getter as the value that it gave. An array's holes come back as `undefined`, and an object that occurs
 * twice as two.
 */

import { LayoverError } from "../errors.ts";
import { defaultLimits } from "../limits.ts";
import { utf8Size } from "../utf8-size.ts";
import { readTagged } from "./reader.ts";
import { tooLarge } from "./unstorable.ts";
import { Writer } from "./writer.ts";

/** How a text begins that has to be opened or fetched before it is read: `2sealed.` or `2stored.` */
export const elsewhereMark = "2s";

/** How an encrypted text begins. */
export const sealedMark = "2sealed.";

/** How the text of a sensitive value begins. */
export const sensitiveMark = "3sensitive.";

export interface EncodeOptions {
  /** The subject of an error's sentence: `the result of step "charge"`. */
  readonly what?: string;
  /** The most bytes that the text may take in UTF-8. Default: 1 MiB. */
  readonly maxBytes?: number;
  /** Default 1,000. */
  readonly maxDepth?: number;
}

/**
 * The text to store for `value`.
 *
 * @throws LayoverError `unstorable_value` (a function, a class instance, a cycle …), `too_deep`,
 * `value_too_large`
 * @example encode({ charge: "c1" }, { what: 'the result of step "charge"' }) // '1{"charge":"c1"}'
 */
export function encode(value: unknown, options: EncodeOptions = {}): string {
  const { what = "the value", maxBytes = defaultLimits.valueBytes, maxDepth = defaultLimits.valueDepth } = options;
  const text = `1${new Writer(what, maxBytes, maxDepth).write(value)}`;
  // A UTF-16 unit is at most three bytes of UTF-8, so nearly every value is spared the count.
  if (text.length * 3 <= maxBytes) return text;
  const size = utf8Size(text);
  if (size > maxBytes) throw tooLarge(what, maxBytes, size);
  return text;
}

export interface DecodeOptions {
  /** The subject of an error's sentence. */
  readonly what?: string;
  /** The longest bigint, in characters, for texts of strangers. A million digits take 0.2 s to read, 0.5 s to write. */
  readonly longestBigint?: number;
}

/**
 * The value that `text` stands for, made anew on each call.
 *
 * @throws LayoverError `undecodable_value`
 */
export function decode(text: string, options: DecodeOptions = {}): unknown {
  const { what = "the stored value", longestBigint = Number.POSITIVE_INFINITY } = options;
  if (text.startsWith(sensitiveMark)) return decode(text.slice(sensitiveMark.length), options);
  const json = text.slice(1);
  try {
    if (text.startsWith("1")) return readTagged(json, longestBigint);
    if (text.startsWith("0")) return JSON.parse(json);
  } catch (cause) {
    throw undecodable(what, "its text is damaged", "Restore the row from a backup, or restart the run.", cause);
  }
  if (text.startsWith("!"))
    throw undecodable(
      what,
      json,
      "Give `encrypted` its keys, `withStore` its store; or export the run with its secrets.",
    );
  if (text.startsWith(sealedMark)) throw undecodable(what, "it is encrypted", "Give this deployment `encrypted(…)`.");
  if (text.startsWith(elsewhereMark))
    throw undecodable(what, `it is kept in a store, ${describeStored(text)}`, "Give this deployment `withStore(…)`.");
  const why = text === "" ? "its text is empty" : `its format ${JSON.stringify(text.slice(0, 1))} is unknown here`;
  throw undecodable(what, why, "Deploy the version of layover that wrote it, or a newer one.");
}

/** Says the size and the name of a value in a store: the text is `2stored.<bytes>.<digest>.<name>`. */
export function describeStored(text: string): string {
  return text.replace(/^\w+\.(\d+)\.\w+\.(.*)$/, '$1 bytes under "$2"');
}

function undecodable(what: string, why: string, hint: string, cause?: unknown): LayoverError {
  return new LayoverError("undecodable_value", `${what} cannot be read: ${why}`, {
    hint,
    ...(cause !== undefined && { cause }),
  });
}
