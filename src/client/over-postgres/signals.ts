/** Sends signals to runs. */
import { v7 } from "uuid";
import type { Contract } from "../../core/contract/contract.ts";
import { checkName } from "../../core/names.ts";
import { encodedPayload, sentSignal } from "../mail.ts";
import type { SignalOptions, SignalReceipt } from "../run.ts";
import { checkSignalId, knownRunId } from "../run-id.ts";
import { type ClientContext, found } from "./client-context.ts";
import { translated } from "./failure.ts";

/** A signal as its sender gives it. */
export interface GivenSignal extends SignalOptions {
  readonly name: string;
  readonly payload: unknown;
  readonly contract: Contract;
}

interface Sent extends GivenSignal {
  /** The run by our id, or by the user's own. */
  readonly run: string | { readonly id: string };
}

export async function sendSignal(context: ClientContext, { run, ...given }: Sent): Promise<SignalReceipt> {
  const { name } = given;
  const key = typeof run === "string" ? { runId: knownRunId(run) } : { id: checkName(run.id, "id") };
  const call = { ...key, ...(await signalFields(context, given)) };
  const answer = found(await translated(() => context.calls.sendSignal(call)), call);
  const outcome = sentSignal(answer, name);
  if (outcome === "sent" && "turn" in answer) await context.dispatchSoon(answer.runId, answer.turn);
  return { runId: answer.runId, outcome };
}

/** Makes the fields of a call that sends a signal, but those that name the run. */
export async function signalFields(
  { limits }: ClientContext,
  { name, payload, contract, dedupeId, signalId = v7() }: GivenSignal,
) {
  return {
    workflow: contract.name,
    name,
    encodedPayload: await encodedPayload(contract, name, payload, limits.valueBytes),
    signalId: checkSignalId(signalId),
    ...(dedupeId !== undefined && { dedupeId: checkName(dedupeId, "dedupeId") }),
  };
}
