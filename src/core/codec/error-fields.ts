/**
 * Errors as fields: the name, message and stack that each has, then what else it carries.
 */

import { record, text } from "./tag-checks.ts";

const ownFields = ["name", "message", "stack"];
/** These too are out of sight where the language sets them, by `new Error(text, { cause })` for one. */
const hiddenFields = [...ownFields, "cause", "errors"];

export function errorToFields(error: object): object {
  const stack: unknown = Reflect.get(error, "stack");
  const visible = Object.keys(error).filter((key) => !hiddenFields.includes(key));
  const others = [...["cause", "errors"].filter((key) => Object.hasOwn(error, key)), ...visible];
  return Object.fromEntries([
    ["name", String(Reflect.get(error, "name"))],
    ["message", String(Reflect.get(error, "message"))],
    ...(typeof stack === "string" ? [["stack", stack]] : []),
    ...others.map((key) => [key, Reflect.get(error, key)]),
  ]);
}

/** An instance of the built-in class of that name; any other name is put upon a plain Error. */
export function errorFromFields(v: unknown): Error {
  const { name, message, stack, ...others } = record(v);
  const error = create(text(name), text(message));
  define(error, "stack", stack);
  for (const [key, value] of Object.entries(others)) define(error, key, value);
  return error;
}

const builtIn = [Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError];

function create(name: string, message: string): Error {
  if (name === "AggregateError") return new AggregateError([], message);
  const Class = builtIn.find((candidate) => candidate.name === name);
  if (Class !== undefined) return new Class(message);
  const error = new Error(message);
  define(error, "name", name);
  return error;
}

function define(error: Error, key: string, value: unknown): void {
  const enumerable = !hiddenFields.includes(key);
  Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true });
}
