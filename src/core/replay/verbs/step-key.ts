/**
 * Keys of steps. `step.run("charge", body, { key: region })` has the path `charge#[eu]`, whatever was charged before
 * it. So a deploy may change a list, and each item keeps its own records. Counting (`charge`, `charge#2`) would mix
 * them up.
 *
 * No name contains a `#` or a bracket, and an occurrence is a bare number, so no other path looks like this.
 */
import { invalid } from "./step-checks.ts";

export interface KeyOptions {
  /**
   * The key that tells this step from others of its name. Histories show it, unless it is long or has unusual
   * characters.
   */
  readonly key: unknown;
  readonly isSensitive: boolean | undefined;
  /** Makes a digest in hexadecimal. The same text gives the same digest for ever. */
  readonly digest: (text: string) => string;
}

/** The keys that stand in a path as they are: letters and digits of any script, and a few other characters. */
const plain = /^[\p{L}\p{N}._:@+-]{1,64}$/u;
const digestLength = 32;

/** The part of the path after the name: `#[eu]`, or `#[~9f86d081…]` for a digest of the key. Empty without a key. */
export function keyPart(what: string, { key, isSensitive = false, digest }: KeyOptions): string {
  if (key === undefined) return "";
  if (typeof key !== "string" || key === "") {
    const given = key === "" ? "empty" : key === null ? "null" : `a ${typeof key}`;
    throw invalid(`the key of ${what} is ${given}`, "Give a text that stays the same, such as an id: String(item.id).");
  }
  return isSensitive || !plain.test(key) ? `#[~${digest(key).slice(0, digestLength)}]` : `#[${key}]`;
}
