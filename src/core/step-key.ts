/**
 * Keys of steps: `step.run("charge", body, { key: region })` is at `charge#[eu]`, whatever was charged before it. So a
 * list that a deploy changes keeps what belongs to whom, where counting (`charge`, `charge#2`) would mix it up.
 *
 * No name has a `#` or a bracket in it, and an occurrence is a number without one, so no other path looks like it.
 */
import { invalid } from "./step-checks.ts";

export interface KeyOptions {
  /** What tells this one from others of its name. Shown in histories, unless it is long or has unusual signs. */
  readonly key: unknown;
  readonly isSensitive: boolean | undefined;
  /** Hexadecimal, the same for the same text for ever. */
  readonly digest: (text: string) => string;
}

/** Letters and digits of any script and a few signs, that may stand in a path and be read there. */
const plain = /^[\p{L}\p{N}._:@+-]{1,64}$/u;
const digestLength = 32;

/** What follows the name in the path: `#[eu]`, or `#[~9f86d081…]` for a digest of the key. Nothing, where there is no key. */
export function keyPart(what: string, { key, isSensitive = false, digest }: KeyOptions): string {
  if (key === undefined) return "";
  if (typeof key !== "string" || key === "") {
    const given = key === "" ? "empty" : key === null ? "null" : `a ${typeof key}`;
    throw invalid(`the key of ${what} is ${given}`, "Give a text that stays the same, such as an id: String(item.id).");
  }
  return isSensitive || !plain.test(key) ? `#[~${digest(key).slice(0, digestLength)}]` : `#[${key}]`;
}
