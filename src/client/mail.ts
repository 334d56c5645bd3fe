/** The mail of a run: signals, and answers to callbacks. It is checked against the contract before it is sent. */

import { type ErrorValue, toErrorValue } from "../core/codec/error-value.ts";
import { toStored } from "../core/codec/stored-value.ts";
import type { CallbackRef } from "../core/contract/callback.ts";
import type { CallbacksOf, Contract } from "../core/contract/contract.ts";
import { type InferInput, parse, type Schema, type Schemas } from "../core/contract/schema.ts";
import { isSensitive } from "../core/contract/sensitive.ts";
import { type ErrorCode, LayoverError } from "../core/errors.ts";
import type { CallbackAnswer, CallbackCall, CallbackState, SignalAnswer } from "../postgres/wire-verbs.ts";
import { digestOfSent } from "./sent.ts";

/** What became of a callback. */
export interface CallbackView {
  readonly workflow: string;
  readonly version: number;
  /** The callback's name in the contract. */
  readonly name: string;
  readonly status: Exclude<CallbackState["outcome"], "unknown">;
  readonly deadline: Date | undefined;
  /** The question that the workflow asks, if it gave one. */
  readonly title?: string;
  readonly text?: string;
}

/** What may answer some callback of this contract. */
export type CallbackInputOf<C> = InferInput<CallbacksOf<C>[keyof CallbacksOf<C>]>;

/** Why a callback is rejected. */
export type Rejection = string | Error | { readonly name?: string; readonly message: string; readonly data?: unknown };

/** The text to store for a signal's payload. @throws LayoverError `unknown_signal`, `invalid_payload` … */
export async function encodedPayload(
  contract: Contract,
  name: string,
  payload: unknown,
  maxBytes: number,
): Promise<string> {
  const what = `the payload of signal ${JSON.stringify(name)}`;
  const schema = schemaOf(contract, contract.signals, name, { kind: "signal", code: "unknown_signal" });
  const terms = { what, isSensitive: isSensitive(contract, `signals.${name}`) };
  return toStored(await parse(schema, payload, { code: "invalid_payload", ...terms }), { ...terms, maxBytes });
}

/** What to store of a callback's answer. @throws LayoverError `unknown_callback`, `invalid_payload` … */
export async function encodedAnswer(
  contract: Contract,
  ref: CallbackRef,
  value: unknown,
  maxBytes: number,
): Promise<Pick<CallbackCall, "value" | "sent">> {
  if (contract.name !== ref.workflow) {
    const expected = `workflow ${JSON.stringify(ref.workflow)}, not of ${JSON.stringify(contract.name)}`;
    throw new LayoverError("unknown_callback", `the token is of ${expected}`, {
      hint: "Give the contract of the workflow that made the callback.",
    });
  }
  const what = `the answer to callback ${JSON.stringify(ref.name)}`;
  const schema = schemaOf(contract, contract.callbacks, ref.name, { kind: "callback", code: "unknown_callback" });
  const terms = { what, isSensitive: isSensitive(contract, `callbacks.${ref.name}`) };
  const encoded = toStored(await parse(schema, value, { code: "invalid_payload", ...terms }), { ...terms, maxBytes });
  const sent = digestOfSent(value, encoded);
  return { value: encoded, ...(sent !== undefined && { sent }) };
}

/** Never too large, as an ErrorValue never is. */
export function encodedRejection(reason: Rejection): string {
  const error: ErrorValue = toErrorValue(reason);
  return toStored(error, { what: "the rejection" });
}

/** @throws LayoverError `run_over`, `signal_closed` */
export function sentSignal(answer: Exclude<SignalAnswer, { outcome: "unknown" }>, name: string): "sent" | "duplicate" {
  if (answer.outcome === "closed") {
    throw new LayoverError("signal_closed", `the run ${answer.runId} takes no more signal ${JSON.stringify(name)}`, {
      hint: "It closed that name and is about to end. Start a new run, or leave the signal out.",
      details: { runId: answer.runId, signal: name },
    });
  }
  if (answer.outcome !== "over") return answer.outcome;
  throw new LayoverError("run_over", `the run ${answer.runId} is over (${answer.status}), so it takes no signal`, {
    hint: "Start a new run, or leave the signal out.",
    details: { runId: answer.runId, runStatus: answer.status },
  });
}

export function unknownCallback(): LayoverError {
  return new LayoverError("unknown_callback", "there is no such callback", {
    hint: "Use the URL exactly as it was sent, to its last character.",
  });
}

/** Makes the error for a token that is too old. */
export function endedLink(name: string): LayoverError {
  return new LayoverError("callback_expired", `the link to the callback ${JSON.stringify(name)} has ended`, {
    hint: "Ask the sender for a new one.",
  });
}

/** @throws LayoverError `callback_conflict`, `callback_expired`, `unknown_callback` */
export function refuseUnanswered(answer: CallbackAnswer, name: string): void {
  const what = `the callback ${JSON.stringify(name)}`;
  switch (answer.outcome) {
    case "answered":
      return;
    case "conflict":
      throw new LayoverError("callback_conflict", `${what} was answered already, and otherwise`, {
        hint: "The first answer counts. Nothing is left to do.",
      });
    case "expired":
      throw new LayoverError("callback_expired", `${what} was not answered in time`, {
        hint: "The workflow went on without an answer. Ask for a new link if one is still needed.",
      });
    case "over":
      throw new LayoverError("callback_expired", `${what} belongs to a run that is over`, {
        hint: "Nobody waits for an answer any more.",
      });
    case "unknown":
      throw unknownCallback();
  }
}

function schemaOf(
  contract: Contract,
  schemas: Schemas,
  name: string,
  { kind, code }: { kind: string; code: ErrorCode },
): Schema {
  const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
  if (schema !== undefined) return schema;
  const workflow = JSON.stringify(contract.name);
  const known = Object.keys(schemas).map((key) => JSON.stringify(key));
  throw new LayoverError(code, `workflow ${workflow} has no ${kind} ${JSON.stringify(name.slice(0, 60))}`, {
    hint: known.length === 0 ? `Add it to the contract's ${kind}s.` : `Its ${kind}s are ${known.join(", ")}.`,
  });
}
