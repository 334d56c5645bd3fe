/**
 * Views without the stacks of errors. A stack names files of the server, and most callers of the API have no need of
 * it. So only a caller with the scope `admin` sees stacks. They stay in the database, and a client in the process sees
 * them.
 */
import { Unreadable } from "../client/unreadable.ts";
import { isRecord } from "../core/codec/tag-checks.ts";
import type { Visit } from "./route.ts";

/** Makes the view that this caller may see. The view was read for this one answer, so it may be changed. */
export function shownTo({ seesStacks }: Visit, view: object): unknown {
  if (seesStacks) return view;
  hideInErrors(view);
  return withoutStacks(view);
}

/** The fields of a view that hold further views. */
const lists = ["runs", "records", "attempts"];

/** Takes the stacks out of the errors that a view holds as data. */
function withoutStacks(view: unknown): unknown {
  if (!isRecord(view)) return view;
  const fields = Object.entries(view).map(([name, value]): [string, unknown] => {
    if (lists.includes(name) && Array.isArray(value)) return [name, value.map(withoutStacks)];
    const isEnding = name === "value" && view["kind"] === "ending" && !(value instanceof Unreadable);
    if (isEnding) return [name, withoutStacks(value)];
    return [name, name === "error" || (name === "value" && view["isFailure"] === true) ? withoutStack(value) : value];
  });
  return Object.fromEntries(fields);
}

/** Takes the stack out of an ErrorValue and out of its causes. */
function withoutStack(error: unknown): unknown {
  if (!isRecord(error)) return error;
  const { stack: _, cause, ...fields } = error;
  return cause === undefined ? fields : { ...fields, cause: withoutStack(cause) };
}

/**
 * Takes the stacks out of errors within values, such as a workflow's result. Values have no cycles and no great depth.
 */
function hideInErrors(value: unknown): void {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
  if (value instanceof Error) {
    Reflect.deleteProperty(value, "stack");
    if (isRecord(value.cause) && !(value.cause instanceof Error)) value.cause = withoutStack(value.cause); // a StepError's
    // It reads hidden fields too, since the cause of an error is hidden.
    for (const name of Object.getOwnPropertyNames(value)) hideInErrors(Reflect.get(value, name));
    return;
  }
  const parts = value instanceof Map || value instanceof Set || Array.isArray(value) ? value : Object.values(value);
  for (const part of parts) hideInErrors(part);
}
