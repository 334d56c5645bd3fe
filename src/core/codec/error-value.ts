/**
 * What was thrown, as data. JavaScript throws anything: texts, null, proxies, errors that hold whole
 * sockets. What comes out here can always be stored, and is never large.
 */

import { decode, encode } from "./codec.ts";

/** An error as it is stored and shown, and as the handler meets it: the `cause` of a StepError. */
export interface ErrorValue {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  /** The error's own `data` if it has one, otherwise its further properties. */
  readonly data?: unknown;
  /** The error's own code, such as Node's "ECONNREFUSED" or Postgres' "23505". */
  readonly code?: string;
  readonly cause?: ErrorValue;
}

const longestName = 200;
const longestText = 8 * 1024;
const dataBytes = 8 * 1024;
/** Far from the limit of values, as the data lies within the error, and that within its effects. */
const dataDepth = 100;
const mostCauses = 3;
const mostErrors = 10;

/** Never throws. Of an ErrorValue it makes an equal one. */
export function toErrorValue(thrown: unknown): ErrorValue {
  return errorValue(thrown, mostCauses);
}

function errorValue(thrown: unknown, causesLeft: number): ErrorValue {
  if (typeof thrown === "string") return { name: "Error", message: cut(thrown, longestText) };
  if (typeof thrown === "function") return { name: "Error", message: "a function was thrown" };
  if (typeof thrown !== "object" || thrown === null) return { name: "Error", message: `${String(thrown)} was thrown` };
  const stack = readText(thrown, "stack");
  const code = readText(thrown, "code");
  const data = dataOf(thrown);
  const cause = read(thrown, "cause");
  return {
    name: cut(readText(thrown, "name") || "Error", longestName),
    message: cut(readText(thrown, "message") ?? "an object that is no Error was thrown", longestText),
    ...(stack !== undefined && { stack: cut(stack, longestText) }),
    ...(data !== undefined && { data }),
    ...(code !== undefined && { code: cut(code, longestName) }),
    ...(cause !== undefined && cause !== null && causesLeft > 0 && { cause: errorValue(cause, causesLeft - 1) }),
  };
}

function dataOf(thrown: object): unknown {
  const own = read(thrown, "data");
  if (own !== undefined) return keep(own, dataBytes).kept;
  const data: [string, unknown][] = [];
  let bytesLeft = dataBytes;
  for (const key of furtherKeys(thrown)) {
    if (key.length > bytesLeft) break;
    const { kept, bytes } = keep(key === "errors" ? errorsOf(thrown) : read(thrown, key), bytesLeft);
    data.push([key, kept]);
    bytesLeft -= bytes + key.length;
  }
  return data.length === 0 ? undefined : Object.fromEntries(data);
}

function furtherKeys(thrown: object): readonly string[] {
  const taken = ["name", "message", "stack", "cause", "data"];
  if (readText(thrown, "code") !== undefined) taken.push("code");
  const visible = attempt(() => (isIndexed(thrown) ? [] : Object.keys(thrown))) ?? [];
  const keys = visible.filter((key) => !taken.includes(key));
  // An AggregateError, which Promise.any throws, hides its errors.
  return keys.includes("errors") || !Array.isArray(errorsOf(thrown)) ? keys : [...keys, "errors"];
}

/** Whether the value has a key for each of its bytes or characters. Listing a billion keys would end the process. */
function isIndexed(thrown: object): boolean {
  return ArrayBuffer.isView(thrown) || Object.prototype.toString.call(thrown) === "[object String]";
}

/** A list of errors by their names and messages; whatever else is there as it is. */
function errorsOf(thrown: object): unknown {
  const errors = read(thrown, "errors");
  return attempt(() => (Array.isArray(errors) ? errors.slice(0, mostErrors).map(brief) : errors));
}

function brief(error: unknown): ErrorValue {
  const { name, message } = errorValue(error, 0);
  return { name, message: cut(message, longestName) };
}

/** A copy of `value`, or a text that says why there is none, and the bytes that it takes. */
function keep(value: unknown, maxBytes: number): { kept: unknown; bytes: number } {
  try {
    const text = encode(value, { what: "it", maxBytes, maxDepth: dataDepth });
    return { kept: decode(text), bytes: text.length };
  } catch (error) {
    const kept = `(not kept: ${readText(Object(error), "message")})`;
    return { kept, bytes: kept.length };
  }
}

function readText(thrown: object, key: string): string | undefined {
  const value = read(thrown, key);
  return typeof value === "string" ? value : undefined;
}

function read(thrown: object, key: string): unknown {
  return attempt(() => Reflect.get(thrown, key));
}

/** Getters and proxies may throw. */
function attempt<Result>(reading: () => Result): Result | undefined {
  try {
    return reading();
  } catch {
    return undefined;
  }
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}
