/**
 * Why a value cannot be stored, in words for whoever returned it from a step: where in the value, what is
 * there, and what to return instead.
 */

import { LayoverError } from "../errors.ts";
import { formatPath } from "../value-path.ts";

/** What stands there, as in "is a function", and what to do about it. */
interface Reason {
  readonly is: string;
  readonly hint: string;
}

export function unstorable(what: string, path: readonly PropertyKey[], value: unknown): LayoverError {
  return cannotBeStored(what, path, reasonOf(value));
}

export function unstorableCycle(
  what: string,
  path: readonly PropertyKey[],
  back: readonly PropertyKey[],
): LayoverError {
  return cannotBeStored(what, path, {
    is: `a cycle back to ${formatPath(back)}`,
    hint: "Keep an id there instead of the object.",
  });
}

/** A getter or a proxy threw `cause`. */
export function unreadable(what: string, path: readonly PropertyKey[], cause: unknown): LayoverError {
  const reason = { is: "unreadable: reading it threw an error", hint: "Return a plain copy of the data." };
  return cannotBeStored(what, path, reason, cause);
}

function cannotBeStored(what: string, path: readonly PropertyKey[], reason: Reason, cause?: unknown): LayoverError {
  const place = formatPath(path);
  return new LayoverError("unstorable_value", `${what} cannot be stored: ${place} is ${reason.is}`, {
    hint: reason.hint,
    details: { path: place },
    ...(cause !== undefined && { cause }),
  });
}

export function tooDeep(what: string, path: readonly PropertyKey[], limit: number): LayoverError {
  const place = formatPath(path);
  return new LayoverError("too_deep", `${what} is nested more than ${limit} levels deep, at ${place}`, {
    hint: "Store a flatter value: a list of items that name their parents, for example.",
    details: { path: place, limit },
  });
}

/** `size` is in bytes; where the value was given up before its end, it is a lower bound. */
export function tooLarge(what: string, limit: number, size: number, isLowerBound = false): LayoverError {
  const measured = `${isLowerBound ? "more than " : ""}${size} bytes`;
  return new LayoverError("value_too_large", `${what} is too large: ${measured}, where ${limit} are allowed`, {
    hint: "Keep the data elsewhere (object storage, a table of yours) and store where it is.",
    details: { limit, size },
  });
}

function reasonOf(value: unknown): Reason {
  if (typeof value === "function") return { is: "a function", hint: "Leave it out: only data can be stored." };
  if (typeof value !== "object" || value === null) return { is: `a ${typeof value}`, hint: "Use a text instead." };
  if ("then" in value && typeof value.then === "function") {
    return { is: "a promise: did you forget await?", hint: "Write `await` before what makes it." };
  }
  if ("bodyUsed" in value) {
    return {
      is: `a ${classNameOf(value)}: did you forget to read its body?`,
      hint: "Read its body first, with `await response.json()`, and return that.",
    };
  }
  const name = classNameOf(value);
  return {
    is: name === "Object" ? "an object with a prototype of its own" : `an instance of ${name}`,
    hint: hintFor(value, name),
  };
}

function hintFor(value: object, className: string): string {
  if (className === "Object") return "Return a plain copy of it: `{ ...object }`, for example.";
  if ("toJSON" in value) return "Return what its `toJSON()` gives, or a plain object with the fields you need.";
  const isList = Symbol.iterator in value && !("get" in value);
  if (isList) return "Return a plain copy of it: `[...rows]`, for example.";
  return `Return a plain object with the fields you need instead of the ${className}.`;
}

function classNameOf(value: object): string {
  const { constructor: Class } = value;
  if (typeof Class === "function" && Class.name !== "") return Class.name;
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}
