/**
 * Writes a value as tagged JSON (see codec.ts), reading every part of it once.
 *
 * It builds the text itself instead of calling `JSON.stringify` on the whole: that would drop functions
 * and turn dates into strings in silence, and would read each getter a second time.
 */

import { LayoverError } from "./errors.ts";
import { defaultLimits } from "./limits.ts";
import { type StorableClass, storableClass } from "./storable-class.ts";
import { tooDeep, tooLarge, unreadable, unstorable, unstorableCycle } from "./unstorable.ts";
import type { PathSegment } from "./value-path.ts";

export class Writer {
  readonly #what: string;
  readonly #maxBytes: number;
  #text = "";
  /** The objects around the present value: to see cycles, and how deep it lies. */
  readonly #ancestors: object[] = [];
  /** The key in each ancestor that leads to the present value. What lies beyond the ancestors is stale. */
  readonly #keys: PathSegment[] = [];

  constructor(what: string, maxBytes: number) {
    this.#what = what;
    this.#maxBytes = maxBytes;
  }

  write(value: unknown): string {
    try {
      this.#value(value);
      return this.#text;
    } catch (error) {
      throw error instanceof LayoverError ? error : unreadable(this.#what, this.#path(), error);
    }
  }

  #value(value: unknown): void {
    if (typeof value === "object" && value !== null) this.#object(value);
    else this.#scalar(value);
  }

  #scalar(value: unknown): void {
    switch (typeof value) {
      case "string":
        this.#checkSize(value.length);
        this.#text += quote(value);
        return;
      case "number":
        if (Number.isFinite(value) && !Object.is(value, -0)) this.#text += value;
        else this.#tag("number", Object.is(value, -0) ? "-0" : String(value));
        return;
      case "boolean":
      case "object": // null
        this.#text += value;
        return;
      case "undefined":
        this.#text += '{"$":"undefined"}';
        return;
      case "bigint":
        this.#tag("bigint", String(value));
        return;
      default:
        throw unstorable(this.#what, this.#path(), value);
    }
  }

  #object(value: object): void {
    const name = storableClass(value);
    if (name === undefined) throw unstorable(this.#what, this.#path(), value);
    this.#enter(value);
    if (name === "Object") this.#members(value, Object.keys(value));
    else if (name === "Array") this.#items(Array.prototype.values.call(value));
    else this.#instance(name, value);
    this.#ancestors.pop();
  }

  #enter(value: object): void {
    const { valueDepth } = defaultLimits;
    if (this.#ancestors.length === valueDepth) throw tooDeep(this.#what, this.#path(), valueDepth);
    const earlier = this.#ancestors.indexOf(value);
    if (earlier !== -1) throw unstorableCycle(this.#what, this.#path(), this.#keys.slice(0, earlier));
    this.#checkSize(0);
    this.#ancestors.push(value);
  }

  #instance(name: StorableClass, value: object): void {
    this.#text += `{"$":"${name}","v":`;
    if (name === "Date") this.#time(Date.prototype.getTime.call(value));
    else if (name === "Map") this.#entries(Map.prototype.entries.call(value));
    else if (name === "Set") this.#items(Set.prototype.values.call(value));
    else if (name === "Uint8Array") this.#bytes(Uint8Array.prototype.subarray.call(value, 0));
    else if (name === "ArrayBuffer") this.#bytes(new Uint8Array(ArrayBuffer.prototype.slice.call(value, 0)));
    else if (name === "Error") this.#error(value);
    else this.#scalar(String(value)); // a URL
    this.#text += "}";
  }

  #members(value: object, keys: readonly string[]): void {
    const isEscaped = keys.includes("$");
    let separator = isEscaped ? '{"$":"Object","v":{' : "{";
    for (const key of keys) {
      this.#text += `${separator}${quote(key)}:`;
      separator = ",";
      this.#stepInto(key);
      this.#value(Reflect.get(value, key));
    }
    this.#text += keys.length === 0 ? "{}" : isEscaped ? "}}" : "}";
  }

  #items(items: Iterable<unknown>): void {
    let index = 0;
    for (const item of items) {
      this.#text += index === 0 ? "[" : ",";
      this.#stepInto(index++);
      this.#value(item);
    }
    this.#text += index === 0 ? "[]" : "]";
  }

  #entries(entries: Iterable<readonly [unknown, unknown]>): void {
    let index = 0;
    for (const [key, value] of entries) {
      this.#text += index === 0 ? "[[" : ",[";
      this.#stepInto({ text: `.keys()[${index}]` });
      this.#value(key);
      this.#text += ",";
      this.#stepInto({ text: `.values()[${index++}]` });
      this.#value(value);
      this.#text += "]";
    }
    this.#text += index === 0 ? "[]" : "]";
  }

  #error(error: object): void {
    const name: unknown = Reflect.get(error, "name");
    const message: unknown = Reflect.get(error, "message");
    const stack: unknown = Reflect.get(error, "stack");
    this.#text += `{"name":${quote(String(name))},"message":${quote(String(message))}`;
    if (typeof stack === "string") this.#text += `,"stack":${quote(stack)}`;
    // `new Error(text, { cause })` and AggregateError keep these two out of sight.
    for (const key of ["cause", "errors"]) {
      if (!Object.hasOwn(error, key) || Object.prototype.propertyIsEnumerable.call(error, key)) continue;
      this.#text += `,"${key}":`;
      this.#stepInto(key);
      this.#value(Reflect.get(error, key));
    }
    const others = Object.keys(error).filter((key) => key !== "name" && key !== "message" && key !== "stack");
    if (others.length > 0) {
      this.#text += ',"props":';
      this.#members(error, others);
    }
    this.#text += "}";
  }

  #time(ms: number): void {
    this.#text += Number.isNaN(ms) ? "null" : quote(new Date(ms).toISOString());
  }

  #bytes(bytes: Uint8Array): void {
    this.#checkSize(bytes.length);
    let binary = "";
    for (let start = 0; start < bytes.length; start += 8_192) {
      binary += String.fromCharCode(...bytes.subarray(start, start + 8_192));
    }
    this.#text += quote(btoa(binary));
  }

  #tag(name: string, text: string): void {
    this.#text += `{"$":"${name}","v":"${text}"}`;
  }

  /**
   * Gives up on what is far too large before it fills the memory. That is not only a long text: an array
   * that holds one array twice, thirty times over, is small in memory and a billion arrays in JSON.
   */
  #checkSize(length: number): void {
    const size = this.#text.length + length;
    if (size > this.#maxBytes * 4) throw tooLarge(this.#what, this.#maxBytes, size, true);
  }

  #stepInto(key: PathSegment): void {
    this.#keys[this.#ancestors.length - 1] = key;
  }

  /** Where the present value is. */
  #path(): readonly PathSegment[] {
    return this.#keys.slice(0, this.#ancestors.length);
  }
}

// JSON.stringify takes longer to begin, and most texts need no escape: 157 ns instead of 200 for {ok:true,n:1}.
const needsEscape = /["\\\u0000-\u001f\ud800-\udfff]/;

function quote(text: string): string {
  return needsEscape.test(text) ? JSON.stringify(text) : `"${text}"`;
}
