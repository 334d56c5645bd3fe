/**
 * Which class an object is of, among those that can be stored.
 *
 * Not by `instanceof`: test runners and sandboxes have a realm of their own, whose `Date` is not ours.
 */

const storableClasses = ["Object", "Array", "Date", "Map", "Set", "URL", "ArrayBuffer", "Uint8Array", "Error"] as const;

export type StorableClass = (typeof storableClasses)[number];

/**
 * Subclasses are not storable, as they would not come back as such. Except those of Error, which keep their
 * name, and of Uint8Array, since Node's Buffer is one.
 */
export function storableClass(value: object): StorableClass | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return "Object";
  if (Array.isArray(value) && prototype === Array.prototype) return "Array";
  if (value instanceof Error) return "Error"; // whatever its toStringTag says: a DOMException, for one
  const tag = Object.prototype.toString.call(value).slice("[object ".length, -1);
  const name = storableClasses.find((candidate) => candidate === tag);
  if (name === "Error" || name === "Uint8Array") return name;
  return prototypesOf(value) === (name === "Object" ? 1 : 2) ? name : undefined;
}

function prototypesOf(value: object): number {
  const prototype: object | null = Object.getPrototypeOf(value);
  return prototype === null ? 0 : 1 + prototypesOf(prototype);
}
