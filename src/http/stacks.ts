/**
 * Views without the stacks of errors. A stack names files of the server, and nobody who calls an API needs them: so it is
 * shown to callers with the scope `admin` alone. It stays in the database, and is there for the client in process.
 */
import { isRecord } from "../core/codec-checks.ts";
import type { Visit } from "./route.ts";

/** The view as this caller may see it. It came out of the database for this one answer, so it may be changed. */
export function shownTo({ seesStacks }: Visit, view: object): unknown {
  if (seesStacks) return view;
  hideInErrors(view);
  return withoutStacks(view);
}

/** The fields of a view that hold further views. */
const lists = ["runs", "records", "attempts"];

/** Of the errors that the view tells of as data. */
function withoutStacks(view: unknown): unknown {
  if (!isRecord(view)) return view;
  const fields = Object.entries(view).map(([name, value]): [string, unknown] => {
    if (lists.includes(name) && Array.isArray(value)) return [name, value.map(withoutStacks)];
    return [name, name === "error" || (name === "value" && view["isFailure"] === true) ? withoutStack(value) : value];
  });
  return Object.fromEntries(fields);
}

/** The fields of an ErrorValue but for its stack, and those of its causes. */
function withoutStack(error: unknown): unknown {
  if (!isRecord(error)) return error;
  const { stack: _, cause, ...fields } = error;
  return cause === undefined ? fields : { ...fields, cause: withoutStack(cause) };
}

/** Of errors within values: what a workflow returned may hold some. There are no cycles and no great depth. */
function hideInErrors(value: unknown): void {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
  if (value instanceof Error) {
    Reflect.deleteProperty(value, "stack");
    if (isRecord(value.cause) && !(value.cause instanceof Error)) value.cause = withoutStack(value.cause); // a StepError's
    // An own field may be hidden, as the cause is.
    for (const name of Object.getOwnPropertyNames(value)) hideInErrors(Reflect.get(value, name));
    return;
  }
  const parts = value instanceof Map || value instanceof Set || Array.isArray(value) ? value : Object.values(value);
  for (const part of parts) hideInErrors(part);
}
