/** Takes the fields out of a body and a query, and says of each that is wrong what was expected. */
import { toMilliseconds } from "../core/duration.ts";
import { LayoverError } from "../core/errors.ts";
import { readValue } from "./body.ts";

export type Body = Readonly<Record<string, unknown>>;

/** Reads one field of a body. */
export type ReadField = (body: Body, field: string) => unknown;

/** The fields that a body may have, and how each is read. The OpenAPI document tells of them by the same table. */
export type Fields = Readonly<Record<string, ReadField>>;

export type ValuesOf<Given extends Fields> = { readonly [Field in keyof Given]: ReturnType<Given[Field]> };

/** Reads a body that is an object. No body is an empty one. @throws LayoverError as `readValue`, and `invalid_request` … */
export async function readFields<Given extends Fields>(
  request: Request,
  maxBytes: number,
  fields: Given,
): Promise<ValuesOf<Given>> {
  return valuesIn(objectBody(await readValue(request, maxBytes), Object.keys(fields)), fields);
}

export function valuesIn<Given extends Fields>(body: Body, fields: Given): ValuesOf<Given> {
  const values = Object.entries(fields).map(([field, read]) => [field, read(body, field)]);
  return Object.fromEntries(values) as ValuesOf<Given>; // each field was read by its own reader
}

/** Any value. It is checked where it is used. */
export function anyValue(body: Body, field: string): unknown {
  return body[field];
}

/** No body is an empty one. @throws LayoverError `invalid_request` */
export function objectBody(body: unknown, fields: readonly string[]): Body {
  if (body === undefined) return {};
  if (!isPlainObject(body)) throw invalidField("the body", "is not an object", `Send { ${fields.join(", ")} }.`);
  const unknown = Object.keys(body).find((key) => !fields.includes(key));
  if (unknown === undefined) return body;
  throw invalidField(
    shorten(unknown),
    "is not a field of this request",
    fields.length === 0 ? "It has none." : `The fields are ${fields.join(", ")}.`,
  );
}

/** Null counts as left out, here and below. */
export function optionalText(body: Body, field: string): string | undefined {
  const value = body[field] ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw invalidField(field, `is ${kindOf(value)}, not a text`, "Put it in double quotes.");
}

export function optionalNumber(body: Body, field: string): number | undefined {
  const value = body[field] ?? undefined;
  if (value === undefined || typeof value === "number") return value;
  throw invalidField(field, `is ${kindOf(value)}, not a number`, "Leave the quotes away.");
}

export function requiredNumber(body: Body, field: string): number {
  return given(optionalNumber(body, field), field);
}

export function requiredText(body: Body, field: string): string {
  return given(optionalText(body, field), field);
}

function given<Value>(value: Value | undefined, field: string): Value {
  if (value !== undefined) return value;
  throw invalidField(field, "is missing", "This request needs it.");
}

export function optionalFlag(body: Body, field: string): boolean | undefined {
  const value = body[field] ?? undefined;
  if (value === undefined || typeof value === "boolean") return value;
  throw invalidField(field, `is ${kindOf(value)}, not true or false`, "Leave the quotes away.");
}

/** Reads a duration, in milliseconds. */
export function optionalDuration(body: Body, field: string): number | undefined {
  const value = body[field] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === "number" || typeof value === "string") return toMilliseconds(value, { field });
  throw invalidField(field, `is ${kindOf(value)}, not a duration`, 'Give milliseconds, or a text such as "30s".');
}

const instantText = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i;

/** RFC 3339, with a time zone: a date without one is another instant on every machine. In the codec a Date. */
export function optionalInstant(body: Body, field: string): Date | undefined {
  const value = body[field] ?? undefined;
  if (value === undefined || value instanceof Date) return value;
  const date = typeof value === "string" && instantText.test(value) ? new Date(value) : undefined;
  if (date !== undefined && !Number.isNaN(date.getTime())) return date;
  throw invalidField(field, `is ${kindOf(value)} that is no date`, 'Write it as "2026-11-20T10:00:00Z".');
}

export function optionalTexts(body: Body, field: string): Readonly<Record<string, string>> | undefined {
  const value = body[field] ?? undefined;
  if (value === undefined || (isPlainObject(value) && isTexts(value))) return value;
  throw invalidField(field, "is not an object of texts", 'Write it as { "customer": "c1" }.');
}

/** Reads a number from a query. If there are several, it takes the first. */
export function queryNumber(query: URLSearchParams, field: string): number | undefined {
  const text = query.get(field);
  if (text === null) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw invalidField(field, `${JSON.stringify(shorten(text))} is not a whole number`, `Write ?${field}=50.`);
}

/** Reads an instant from a query, in RFC 3339. If there are several, it takes the first. */
export function queryInstant(query: URLSearchParams, field: string): Date | undefined {
  return optionalInstant({ [field]: query.get(field) }, field);
}

export function invalidField(field: string, why: string, hint: string): LayoverError {
  return new LayoverError("invalid_request", `${field} ${why}`, { hint, details: { field } });
}

export function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value === "string" ? "text" : typeof value}`;
}

/**
 * Whether it is a plain object. Arrays are none. A body in the codec may also hold a Map or an Error; these are none
 * either.
 */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return Object.prototype.toString.call(value) === "[object Object]";
}

function isTexts(value: Record<string, unknown>): value is Record<string, string> {
  return Object.values(value).every((item) => typeof item === "string");
}
