/**
 * The classes whose instances can be stored: how each is taken apart into the `v` of its tag, and put
 * together from it. What `v` holds may again be any storable value.
 */

import { fromBase64, toBase64 } from "../base64.ts";
import { errorFromFields, errorToFields } from "./error-fields.ts";
import { entry, list, text } from "./tag-checks.ts";

interface ClassCodec {
  /** The least number of characters that `takeApart` makes of the value, found without making them. Default: few. */
  readonly leastSize?: (value: object) => number;
  /** `value` may come from another realm: what is called upon it must itself check what it is. */
  readonly takeApart: (value: object) => unknown;
  /** Throws where `v` is not what `takeApart` gives. */
  readonly putTogether: (v: unknown) => unknown;
}

const classes: Readonly<Record<string, ClassCodec>> = {
  Date: {
    takeApart: (value) => isoText(Date.prototype.getTime.call(value)),
    putTogether: (v) => new Date(v === null ? Number.NaN : text(v)),
  },
  Map: {
    leastSize: (value) => sizeOf(Map.prototype, value),
    takeApart: (value) => [...Map.prototype.entries.call(value)],
    putTogether: (v) => new Map(list(v).map(entry)),
  },
  Set: {
    leastSize: (value) => sizeOf(Set.prototype, value),
    takeApart: (value) => [...Set.prototype.values.call(value)],
    putTogether: (v) => new Set(list(v)),
  },
  URL: {
    takeApart: (value) => new URL(String(value)).href,
    putTogether: (v) => new URL(text(v)),
  },
  Uint8Array: {
    leastSize: (value) => Uint8Array.prototype.subarray.call(value, 0).byteLength,
    takeApart: (value) => toBase64(Uint8Array.prototype.subarray.call(value, 0)),
    putTogether: (v) => fromBase64(text(v)),
  },
  ArrayBuffer: {
    leastSize: (value) => sizeOf(ArrayBuffer.prototype, value, "byteLength"),
    takeApart: (value) => toBase64(new Uint8Array(ArrayBuffer.prototype.slice.call(value, 0))),
    putTogether: (v) => fromBase64(text(v)).buffer,
  },
  Error: {
    takeApart: errorToFields,
    putTogether: errorFromFields,
  },
};

export function classCodec(name: string): ClassCodec | undefined {
  return Object.hasOwn(classes, name) ? classes[name] : undefined;
}

/**
 * The name of the class that `value` will come back as: "Object", "Array" or one of the above.
 *
 * Not by `instanceof`: test runners and sandboxes have a realm of their own, whose Date is not ours. None
 * for instances of subclasses, as they would lose what they are; except those of Error, which keep their
 * name, and Node's Buffer, which everybody takes for a Uint8Array.
 */
export function storableClass(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return "Object";
  if (prototype === Array.prototype && Array.isArray(value)) return "Array";
  if (value instanceof Error) return "Error"; // whatever it calls itself: a DOMException, for one
  const name = Object.prototype.toString.call(value).slice("[object ".length, -1);
  if (name === "Error" || name === "Uint8Array") return name;
  if (name === "Object") return prototypesOf(value) === 1 ? name : undefined;
  if (name === "Array" || classCodec(name) !== undefined) return prototypesOf(value) === 2 ? name : undefined;
  return undefined;
}

/** Reads the getter of `prototype`. The object may hide that getter behind a property of its own. */
function sizeOf(prototype: object, value: object, getter = "size"): number {
  return Number(Reflect.get(prototype, getter, value));
}

function prototypesOf(value: object): number {
  const prototype: object | null = Object.getPrototypeOf(value);
  return prototype === null ? 0 : 1 + prototypesOf(prototype);
}

function isoText(ms: number): string | null {
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
