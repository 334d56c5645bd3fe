/**
 * Writes a value as tagged JSON (see codec.ts), reading each part of it once.
 *
 * It builds the text itself instead of calling `JSON.stringify` on the whole: that would drop functions and
 * turn dates into texts in silence, read getters a second time, and overflow the stack on a deep value.
 */

import { isLayoverError } from "../errors.ts";
import { classCodec, storableClass } from "./classes.ts";
import { tooDeep, tooLarge, unreadable, unstorable, unstorableCycle } from "./unstorable.ts";

/** An object or array that is being written. */
interface Container {
  /** The object in the value. `content` is what is written for it: the object itself, or a Map's entries. */
  readonly source: object;
  readonly content: object;
  /** The keys of an object. Undefined for an array. */
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  /** How many members were begun. */
  begun: number;
  readonly end: string;
}

export class Writer {
  readonly #what: string;
  readonly #maxBytes: number;
  readonly #maxDepth: number;
  #text = "";
  /** The containers that are being written, from the outermost to the innermost. */
  readonly #containers: Container[] = [];

  constructor(what: string, maxBytes: number, maxDepth: number) {
    this.#what = what;
    this.#maxBytes = maxBytes;
    this.#maxDepth = maxDepth;
  }

  write(value: unknown): string {
    try {
      this.#value(value);
      for (let container = this.#containers.at(-1); container !== undefined; container = this.#containers.at(-1)) {
        this.#continue(container);
      }
      return this.#text;
    } catch (error) {
      throw isLayoverError(error) ? error : unreadable(this.#what, this.#path(), error);
    }
  }

  #continue(container: Container): void {
    const { content, keys, length, end } = container;
    const index = container.begun++;
    if (index === length) {
      this.#containers.pop();
      this.#text += end;
      return;
    }
    this.#checkSize(0);
    const key = keys?.[index] ?? index;
    if (index > 0) this.#text += ",";
    if (typeof key === "string") this.#text += `${quote(key)}:`;
    this.#value(Reflect.get(content, key));
  }

  #value(value: unknown): void {
    switch (typeof value) {
      case "string":
        this.#checkSize(value.length);
        this.#text += quote(value);
        return;
      case "number":
        this.#number(value);
        return;
      case "boolean":
        this.#text += value;
        return;
      case "undefined":
        this.#text += '{"$":"undefined"}';
        return;
      case "bigint":
        this.#bigint(value);
        return;
      case "object":
        if (value === null) this.#text += "null";
        else this.#object(value);
        return;
      default:
        throw unstorable(this.#what, this.#path(), value);
    }
  }

  #number(value: number): void {
    const isMinusZero = Object.is(value, -0);
    if (Number.isFinite(value) && !isMinusZero) this.#text += value;
    else this.#text += `{"$":"number","v":"${isMinusZero ? "-0" : value}"}`;
  }

  /**
   * Writes the digits only if they can fit, as writing them takes long. A decimal digit stands for more than three
   * bits.
   */
  #bigint(value: bigint): void {
    if (Number.isFinite(this.#maxBytes)) {
      const longest = BigInt(this.#maxBytes * 16);
      if (value >> longest !== 0n && value >> longest !== -1n) {
        throw tooLarge(this.#what, this.#maxBytes, this.#maxBytes * 4, true);
      }
    }
    this.#text += `{"$":"bigint","v":"${value}"}`;
  }

  #object(value: object): void {
    const name = storableClass(value);
    if (name === undefined) throw unstorable(this.#what, this.#path(), value);
    const codec = classCodec(name);
    if (codec === undefined) {
      this.#open(value, value, "");
      return;
    }
    this.#checkSize(codec.leastSize?.(value) ?? 0);
    const v = codec.takeApart(value);
    this.#text += `{"$":"${name}","v":`;
    if (typeof v === "object" && v !== null) this.#open(value, v, "}");
    else {
      this.#value(v);
      this.#text += "}";
    }
  }

  #open(source: object, content: object, end: string): void {
    if (this.#containers.length === this.#maxDepth) throw tooDeep(this.#what, this.#path(), this.#maxDepth);
    const earlier = this.#containers.findIndex((container) => container.source === source);
    if (earlier !== -1) throw unstorableCycle(this.#what, this.#path(), this.#path().slice(0, earlier));
    if (Array.isArray(content)) {
      this.#text += "[";
      this.#containers.push({ source, content, keys: undefined, length: content.length, begun: 0, end: `]${end}` });
      return;
    }
    const keys = Object.keys(content);
    const hasTagKey = keys.includes("$");
    this.#text += hasTagKey ? '{"$":"Object","v":{' : "{";
    const wholeEnd = hasTagKey ? `}}${end}` : `}${end}`;
    this.#containers.push({ source, content, keys, length: keys.length, begun: 0, end: wholeEnd });
  }

  /**
   * Gives up on a value that is far too large, before its text fills the memory. A value can be small in memory and
   * huge in JSON: `new Array(2 ** 32 - 1)` has four billion holes; an array that holds one array twice, nested thirty
   * times, becomes a billion arrays. So every member is checked.
   */
  #checkSize(length: number): void {
    const size = this.#text.length + length;
    if (size > this.#maxBytes * 4) throw tooLarge(this.#what, this.#maxBytes, size, true);
  }

  /** The path of the present value. */
  #path(): readonly PropertyKey[] {
    return this.#containers.map(({ keys, begun }) => keys?.[begun - 1] ?? begun - 1);
  }
}

// Whatever is none of: space, !, # to [, ] to the last before the surrogates, and what follows them.
const needsEscape = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/** JSON.stringify takes longer to begin: with it alone, encoding {ok:true,n:1} takes 203 ns instead of 141. */
function quote(text: string): string {
  return needsEscape.test(text) ? JSON.stringify(text) : `"${text}"`;
}
