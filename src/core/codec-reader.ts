/**
 * Reads tagged JSON (see codec.ts). Parsed JSON without a tag is the value itself, and most of it has none;
 * otherwise the tags in what was parsed are replaced, innermost first.
 *
 * Every function throws whatever is wrong with the text; codec.ts says whose text it is.
 */

export function readTagged(json: string): unknown {
  const parsed: unknown = JSON.parse(json);
  return json.includes('"$"') ? replaceTags(parsed) : parsed;
}

/** Without recursion: a text may be nested deeper than the stack is. */
function replaceTags(parsed: unknown): unknown {
  const root = { value: parsed };
  const places: [holder: Record<string, unknown>, key: string][] = [[root, "value"]];
  for (const [holder, key] of places) {
    const value = holder[key];
    if (!isRecord(value)) continue;
    const content = value["$"] === "Object" ? record(value["v"]) : value;
    for (const inner of Object.keys(content)) if (isRecord(content[inner])) places.push([content, inner]);
  }
  for (const [holder, key] of places.reverse()) {
    const value = holder[key];
    // Safe also for the key `__proto__`: it is the holder's own already, so no setter runs.
    if (isRecord(value) && Object.hasOwn(value, "$")) holder[key] = untag(value["$"], value["v"]);
  }
  return root.value;
}

function untag(name: unknown, v: unknown): unknown {
  switch (name) {
    case "undefined":
      return undefined;
    case "number":
      return Number(text(v));
    case "bigint":
      return BigInt(text(v));
    case "Object":
      return v;
    case "Date":
      return new Date(v === null ? Number.NaN : text(v));
    case "Map":
      return new Map(list(v).map(entry));
    case "Set":
      return new Set(list(v));
    case "URL":
      return new URL(text(v));
    case "Uint8Array":
      return bytes(text(v));
    case "ArrayBuffer":
      return bytes(text(v)).buffer;
    case "Error":
      return error(record(v));
    default:
      throw new Error(`the tag ${JSON.stringify(name)} is unknown`);
  }
}

const errorClasses = new Map<unknown, new (message: string) => Error>(
  [TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError].map((Class) => [Class.name, Class]),
);
errorClasses.set("AggregateError", class extends AggregateError { constructor(message: string) { super([], message); } });

function error({ name, message, stack, props = {}, ...hidden }: Record<string, unknown>): Error {
  const result = new (errorClasses.get(name) ?? Error)(text(message));
  if (result.name !== name) define(result, "name", text(name), false);
  define(result, "stack", stack, false);
  for (const [key, value] of Object.entries(hidden)) define(result, key, value, false);
  for (const [key, value] of Object.entries(record(props))) define(result, key, value, true);
  return result;
}

function define(target: Error, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(target, key, { value, enumerable, writable: true, configurable: true });
}

function bytes(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function record(value: unknown): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw new Error("a tag's value is not an object");
}

function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error("a tag's value is not an array");
}

function entry(value: unknown): [unknown, unknown] {
  const [key, member] = list(value);
  return [key, member];
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  throw new Error("a tag's value is not a text");
}
