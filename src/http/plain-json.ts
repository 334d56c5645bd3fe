/**
 * Values as plain JSON, for programs that know nothing of the codec. One rule a type, whatever the value:
 *
 *     Date → ISO 8601, an invalid one null      bigint → its digits, as text
 *     Map → [[key, value] …]                    Set → [item …]
 *     URL → its text                            Uint8Array, ArrayBuffer → base64
 *     undefined → left out; null in an array    NaN, ±Infinity → null; -0 → 0
 *     Error → { name, message, cause …, its own fields }, without its stack
 *     Unreadable → { unreadable: why }
 */
import { Unreadable } from "../client/unreadable.ts";
import { toBase64 } from "../core/base64.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Undefined only for undefined itself. Values come out of the codec, so there are no cycles and no great depth. */
export function toJson(value: unknown): Json | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "bigint":
      return String(value);
    case "object":
      return value === null ? null : objectToJson(value);
    default:
      return undefined;
  }
}

function objectToJson(value: object): Json {
  if (Array.isArray(value)) return items(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Map) return [...value].map(items);
  if (value instanceof Set) return items([...value]);
  if (value instanceof URL) return value.href;
  if (value instanceof Uint8Array) return toBase64(value);
  if (value instanceof ArrayBuffer) return toBase64(new Uint8Array(value));
  if (value instanceof Unreadable) return { unreadable: value.reason };
  if (value instanceof Error) return members(errorFields(value));
  return members(Object.entries(value));
}

function items(values: readonly unknown[]): readonly Json[] {
  return values.map((item) => toJson(item) ?? null);
}

/** `fromEntries` defines: a key `__proto__` stays a key. */
function members(entries: readonly (readonly [string, unknown])[]): Json {
  return Object.fromEntries(
    entries.flatMap(([key, value]) => {
      const json = toJson(value);
      return json === undefined ? [] : [[key, json]];
    }),
  );
}

function errorFields(error: Error): [string, unknown][] {
  const hidden = error instanceof AggregateError ? [["errors", error.errors] satisfies [string, unknown]] : [];
  const own = Object.entries(error).filter(([key]) => key !== "stack");
  return [["name", error.name], ["message", error.message], ["cause", error.cause], ...hidden, ...own];
}
