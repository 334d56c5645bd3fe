/**
 * Views without the stacks of errors. A stack names files of the server, and most callers of the API have no need of
 * it. So only a caller with the scope `admin` sees stacks. They stay in the database, and a client in the process sees
 * them.
 */
import { isRecord } from "../core/codec/tag-checks.ts";
import type { Visit } from "./route.ts";

/** Takes out of the view what this caller may not see. The view was read for this one answer, so it may be changed. */
export function shownTo({ seesStacks }: Visit, view: object): object {
  if (seesStacks) return view;
  hideInErrors(view);
  hideInView(view);
  return view;
}

/** The fields of a view that hold further views. */
const lists = ["runs", "records", "attempts"];

/** Takes the stacks out of the errors that a view holds as data. */
function hideInView(view: unknown): void {
  if (!isRecord(view)) return;
  for (const [name, value] of Object.entries(view)) {
    if (lists.includes(name) && Array.isArray(value)) value.forEach(hideInView);
    else if (name === "value" && view["kind"] === "ending") hideInView(value);
    else if (name === "error" || (name === "value" && view["isFailure"] === true)) dropStacks(value);
  }
}

/** Takes the stack out of an error, and out of its causes: an Error or an ErrorValue. */
function dropStacks(error: unknown): void {
  for (let each = error; isRecord(each); each = each["cause"]) Reflect.deleteProperty(each, "stack");
}

/**
 * Takes the stacks out of errors within values, such as a workflow's result. Values have no cycles and no great depth. The
 * value was read for this one answer, so it may be changed.
 */
export function hideInErrors(value: unknown): void {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
  if (value instanceof Error) {
    dropStacks(value); // the cause of a StepError is an ErrorValue
    // It reads hidden fields too, since the cause of an error is hidden.
    for (const name of Object.getOwnPropertyNames(value)) hideInErrors(Reflect.get(value, name));
    return;
  }
  const parts = value instanceof Map || value instanceof Set || Array.isArray(value) ? value : Object.values(value);
  for (const part of parts) hideInErrors(part);
}
