/**
 * Names are shown to people, sorted, compared and stored as they are, so they must look like what they
 * are: nothing invisible at their ends, nothing that ends a line, nothing Postgres cannot store.
 */

import { LayoverError } from "./errors.ts";
import { defaultLimits } from "./limits.ts";
import { utf8Size } from "./utf8-size.ts";

/** The name of an environment that nobody named. */
export const defaultEnvironment = "default";

const longestShown = 60;

// Controls (Postgres refuses U+0000), line and paragraph separators, lone surrogates.
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u;

/**
 * Answers `name` if it is 1 to 200 printable characters without spaces around them.
 * `what` says whose name it is: "the workflow's name", "the tag".
 *
 * @throws LayoverError `invalid_name`
 */
export function checkName(name: unknown, what: string): string {
  if (typeof name !== "string") throw invalidName(name, what, `is not a text: ${name === null ? "null" : typeof name}`);
  if (name === "") throw invalidName(name, what, "is empty");
  const limit = defaultLimits.nameLength;
  if (name.length > limit && (name.length > limit * 2 || [...name].length > limit)) {
    throw invalidName(name, what, `is longer than ${limit} characters`);
  }
  if (unprintable.test(name)) throw invalidName(name, what, "contains a character that cannot be printed");
  if (name.trim() !== name) throw invalidName(name, what, "begins or ends with a space");
  return name;
}

/** A step's or scope's name. Names build paths (`ship[3]/send`), so it has none of their signs. */
export function checkStepName(name: unknown, what = "the step's name"): string {
  const checked = checkName(name, what);
  const sign = /[/[\]#]/.exec(checked)?.[0];
  if (sign === undefined) return checked;
  throw invalidName(checked, what, `contains "${sign}", which builds the paths of steps`);
}

/**
 * Answers `path` if Postgres can keep it in an index beside the run's id. An entry of an index holds 2,704 bytes at
 * most.
 *
 * @throws LayoverError `invalid_name`
 */
export function checkPath(path: string): string {
  const limit = defaultLimits.pathBytes;
  if (path.length * 3 <= limit) return path; // a UTF-16 unit takes three bytes at most
  const size = utf8Size(path);
  if (size <= limit) return path;
  const message = `the path of step ${JSON.stringify(path.slice(0, longestShown))}… is ${size} bytes long, more than ${limit}`;
  throw new LayoverError("invalid_name", message, {
    hint: "Use shorter names for the step and for the scopes and maps around it.",
    details: { field: "the step's path", limit, size },
  });
}

/** A namespace. It becomes part of names in the cloud, such as a schedule's, so its letters are few. */
export function checkNamespace(namespace: unknown): string {
  const checked = checkName(namespace, "the namespace");
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(checked)) return checked;
  throw new LayoverError("invalid_name", `the namespace ${JSON.stringify(checked)} is not a plain identifier`, {
    hint: 'Use 1 to 63 letters, digits, "-", "_" and ".", beginning with a letter or digit.',
    details: { field: "the namespace", name: checked },
  });
}

function invalidName(name: unknown, what: string, why: string): LayoverError {
  const shown = typeof name === "string" && name !== "" ? ` ${JSON.stringify(name.slice(0, longestShown))}` : "";
  return new LayoverError("invalid_name", `${what}${shown} ${why}`, {
    hint: `Use 1 to ${defaultLimits.nameLength} printable characters, without spaces around them.`,
    details: { field: what, limit: defaultLimits.nameLength },
  });
}
