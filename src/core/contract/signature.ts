/**
 * The signature of a contract: what its schemas say, as a short text. Each run keeps the one it was started with. So somebody can tell
 * that a schema was changed, and the version was not.
 */
import { isRecord } from "../codec/tag-checks.ts";
import type { Schema, Schemas } from "./schema.ts";
import { shapeOf } from "./schema-shape.ts";
import type { Startable } from "./startable.ts";

export interface Signed extends Startable {
  readonly signals?: Schemas;
  readonly callbacks?: Schemas;
  readonly status?: Schema | undefined;
}

const known = new WeakMap<Signed, string>();

/**
 * Answers 16 hexadecimal digits: a hash of the name, the version, and the JSON Schemas of all parts. The order of keys does not
 * matter. Of a schema that does not tell what it takes, only that it is there counts.
 */
export function signatureOf(contract: Signed): string {
  const found = known.get(contract);
  if (found !== undefined) return found;
  const { name, version, input, output, signals = {}, callbacks = {}, status } = contract;
  const single = { input: tell(input), output: tell(output), status: tell(status) };
  const named = { signals: tellAll(signals), callbacks: tellAll(callbacks) };
  const signature = hashOf(JSON.stringify(sorted({ name, version, ...single, ...named })));
  known.set(contract, signature);
  return signature;
}

/** Whether two schemas are known to take the same. Of a schema that does not tell what it takes nobody knows. */
export function isSameSchema(one: Schema, other: Schema): boolean {
  const [shape, otherShape] = [shapeOf(one), shapeOf(other)];
  if (shape === undefined || otherShape === undefined) return false;
  return JSON.stringify(sorted(shape)) === JSON.stringify(sorted(otherShape));
}

/**
 * The hash FNV-1a of 64 bits, of UTF-16 units instead of bytes. It guards against nobody: whoever could make two contracts
 * of one signature would gain nothing.
 */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let index = 0; index < text.length; index += 1)
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(index))) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}

function tell(schema: Schema | undefined): unknown {
  return schema === undefined ? null : (shapeOf(schema) ?? "a schema");
}

function tellAll(schemas: Schemas): unknown {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, tell(schema)]));
}

/** Sorts keys, and the lists of those that are `required`. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(
    entries.map(([key, part]) => [key, key === "required" && Array.isArray(part) ? part.toSorted() : sorted(part)]),
  );
}
