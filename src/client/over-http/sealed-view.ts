/**
 * Views on their way through the codec, which stores no class of ours. A value that cannot be read leaves its place, and
 * the view tells why under `unreadable`:
 *
 *     { runId, input: Unreadable("too long"), … }  <->  { runId, unreadable: { input: "too long" }, … }
 *
 * Only a view's own fields can be Unreadable, never what lies in a user's value, so nothing of the user's is mistaken.
 */

import { isRecord } from "../../core/codec/tag-checks.ts";
import { Unreadable } from "../unreadable.ts";

/** The fields of a view that hold further views. */
const lists = ["runs", "records"];

export function sealed(view: unknown): unknown {
  if (!isRecord(view) || Array.isArray(view)) return view;
  const unreadable: Record<string, string> = {};
  const fields: [string, unknown][] = [];
  for (const [name, value] of Object.entries(view)) {
    if (value instanceof Unreadable) unreadable[name] = value.reason;
    else fields.push([name, lists.includes(name) && Array.isArray(value) ? value.map(sealed) : value]);
  }
  if (Object.keys(unreadable).length > 0) fields.push(["unreadable", unreadable]);
  return Object.fromEntries(fields);
}

export function unsealed(view: unknown): unknown {
  if (!isRecord(view) || Array.isArray(view)) return view;
  const { unreadable = {}, ...fields } = view;
  for (const name of lists) if (Array.isArray(fields[name])) fields[name] = fields[name].map(unsealed);
  for (const [name, reason] of Object.entries(isRecord(unreadable) ? unreadable : {})) {
    fields[name] = new Unreadable(String(reason));
  }
  return fields;
}
