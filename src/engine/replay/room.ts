/** How large the values of a run may be, and what they take in the database: a store (layover/store) keeps the large ones. */
import { defaultLimits } from "../../core/limits.ts";
import type { LargeValues } from "../../core/ports.ts";
import { utf8Size } from "../../core/utf8-size.ts";

/** More than the name of any stored value has. */
const nameBytes = 512;

export class Room {
  /** The most bytes of one value, as stored text. */
  readonly valueBytes: number;
  readonly #above: number;

  constructor(store: LargeValues | undefined) {
    this.valueBytes = store?.mostBytes ?? defaultLimits.valueBytes;
    this.#above = store?.above ?? Number.POSITIVE_INFINITY;
  }

  /** How many bytes a history keeps of this text. */
  bytesOf(text: string): number {
    const bytes = utf8Size(text);
    return bytes > this.#above ? Math.min(bytes, nameBytes) : bytes;
  }
}
