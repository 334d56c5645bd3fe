/** Builds deeds of deliveries, of the workflow `flow`. */
import { randomUUID } from "node:crypto";
import type { DeedCall } from "../../src/postgres/wire-webhooks.ts";

let made = 0;

/** Each run comes after those that were made before it. */
export function aStartOf(id: string, more: { readonly runId?: string; readonly encodedInput?: string } = {}): DeedCall {
  made += 1;
  const runId = `01000000-0000-7000-8000-${String(made).padStart(12, "0")}`;
  return { runId, workflow: "flow", version: 1, id, encodedInput: "0null", ...more };
}

export function aSignalTo(id: string, encodedPayload = '0"here"', workflow = "flow"): DeedCall {
  return { workflow, id, signalId: randomUUID(), name: "address", encodedPayload };
}

/** A signal that starts its run. */
export function aSignalWithStartOf(id: string, encodedPayload: string, encodedInput = "0null"): DeedCall {
  return { ...aStartOf(id, { encodedInput }), ...aSignalTo(id, encodedPayload) };
}
