/** The parameters of queries, and those of paths. */
import { runStatuses } from "../../client/run-view.ts";
import { described, instant, integer, type JsonSchema, list, oneOf, text, uuid } from "./schema.ts";

const queries = {
  wait: described("How long to wait for the end of the run, such as `30s`. At most a minute.", text),
  workflow: text,
  version: described("Only together with `workflow`.", integer),
  status: oneOf(...runStatuses),
  tag: described("`name:value`. All of them must hold.", list(text)),
  parent: described("Id of the run that started them.", uuid),
  createdFrom: instant,
  createdBefore: instant,
  endedFrom: instant,
  endedBefore: instant,
  limit: described("How many, at most.", integer),
  cursor: described("The `cursor` of the page before.", text),
  after: described("The `next` of the page before.", integer),
  epoch: described("An earlier history of the run. Default: the newest.", integer),
  webhook: text,
  open: described("`true`: only those that were not carried out.", oneOf("true", "false")),
  reason: described("Why. It is kept.", text),
  by: described("Name of the person who asks. It is kept.", text),
  callId: described("Id of this call. The same call again gets the same answer and does nothing.", uuid),
} satisfies Readonly<Record<string, JsonSchema>>;

export type QueryName = keyof typeof queries;

export function queryParameter(name: QueryName): JsonSchema {
  return { name, in: "query", schema: queries[name] };
}

/** `id` means our own id of a run after `/runs/`, and the user's after `/ids/`. */
export function pathParameter(path: string, name: string): JsonSchema {
  const isRunId = path.includes(`/runs/:${name}`);
  return { name, in: "path", required: true, schema: isRunId ? described("Id of the run.", text) : text };
}

export const idempotencyKey: JsonSchema = {
  name: "Idempotency-Key",
  in: "header",
  description: "Counts as the id where the body names none. So the same request again does nothing twice.",
  schema: text,
};

export const forkKey: JsonSchema = {
  ...idempotencyKey,
  description:
    "Counts as `newRunId` where the body names none: the id of the new run, a uuid of version 7. So the same request again forks nothing twice.",
  schema: uuid,
};

export const traceparent: JsonSchema = {
  name: "traceparent",
  in: "header",
  description: "The trace that the run belongs to (W3C Trace Context).",
  schema: text,
};
