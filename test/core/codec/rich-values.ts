/** Values of every kind that can be stored, at random and by hand, and what is compared of them. */
import fc from "fast-check";
import { decode, encode } from "../../../src/core/codec/codec.ts";

/**
 * What can be told about a value, as nested lists of texts: two values with equal shapes are the same to
 * every program. Stricter than `toEqual`: it tells 0 from -0, a key that is missing from one that is
 * undefined, one order of keys from another, and hidden properties from visible ones.
 */
export function shapeOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return [typeof value, Object.is(value, -0) ? "-0" : String(value)];
  const prototype = `a direct ${Object.getPrototypeOf(value).constructor.name}`;
  if (value instanceof Date) return [prototype, value.getTime()];
  if (value instanceof URL) return [prototype, value.href];
  if (value instanceof ArrayBuffer) return [prototype, ...new Uint8Array(value)];
  if (value instanceof Uint8Array) return [prototype, ...value];
  if (value instanceof Map) return [prototype, ...[...value].map(([key, member]) => [shapeOf(key), shapeOf(member)])];
  if (value instanceof Set) return [prototype, ...[...value].map(shapeOf)];
  const hidden: unknown[] = value instanceof Error ? [value.name, value.message, value.stack] : [];
  for (const key of Object.getOwnPropertyNames(value).sort()) {
    if (Object.prototype.propertyIsEnumerable.call(value, key) || ["name", "message", "stack"].includes(key)) continue;
    hidden.push(`hidden ${key}`, shapeOf(Reflect.get(value, key)));
  }
  return [prototype, hidden, ...Object.entries(value).map(([key, member]) => [key, shapeOf(member)])];
}

export function roundTrip(value: unknown): unknown {
  return decode(encode(value));
}

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units)), // lone surrogates too
);

/** A key of an object: any text, or one that a codec could trip over. */
const key = fc.oneof(
  text,
  fc.constantFrom("$", "v", "__proto__", "constructor", "toJSON", "then", "length", "hasOwnProperty", "0", "name"),
);

const errorClasses = [Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError];

interface Rich {
  value: unknown;
}

/** Any value that can be stored. */
export const richValue: fc.Arbitrary<unknown> = fc.letrec<Rich>((tie) => {
  const value = tie("value");
  const list = fc.array(value, { maxLength: 4 });
  const entries = fc.array(fc.tuple(key, value), { maxLength: 4 });
  const error = fc.record({
    Class: fc.constantFrom(...errorClasses),
    message: text,
    name: fc.option(text),
    cause: value,
    entries,
  });
  return {
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.oneof(
        text,
        fc.double(),
        fc.integer(),
        fc.bigInt(),
        fc.boolean(),
        fc.constantFrom(null, undefined, -0, Number.NaN),
      ),
      fc.date({ noInvalidDate: false }),
      fc.webUrl({ withQueryParameters: true }).map((href) => new URL(href)),
      fc.uint8Array(),
      fc.uint8Array().map((bytes) => bytes.slice().buffer),
      list,
      list.map((items) => new Set(items)),
      fc.array(fc.tuple(value, value), { maxLength: 4 }).map((pairs) => new Map(pairs)),
      entries.map((pairs) => Object.fromEntries(pairs)),
      error.map(({ Class, message, name, cause, entries: pairs }) => {
        const made = new (name === null ? Class : Error)(message, { cause });
        if (name !== null) Object.defineProperty(made, "name", { value: name });
        for (const [property, member] of pairs) {
          if (!["name", "message", "stack", "cause", "errors"].includes(property)) {
            Object.defineProperty(made, property, { value: member, enumerable: true, configurable: true });
          }
        }
        return made;
      }),
    ),
  };
}).value;

/** `levels` containers of one kind within each other. */
export function nested(kind: keyof typeof containers, levels: number): unknown {
  let value: unknown = "innermost";
  for (let level = 0; level < levels; level++) value = containers[kind](value);
  return value;
}

const containers = {
  array: (value: unknown): unknown => [value],
  object: (value: unknown): unknown => ({ a: value }),
  "object with $": (value: unknown): unknown => ({ $: value }),
  set: (value: unknown): unknown => new Set([value]),
  map: (value: unknown): unknown => new Map([["a", value]]),
  "map's key": (value: unknown): unknown => new Map([[value, "a"]]),
  "error's cause": (value: unknown): unknown => Object.assign(new Error("a", { cause: value }), { stack: "" }),
};

export const containerKinds = ["array", "object", "object with $", "set", "map", "map's key", "error's cause"] as const;
