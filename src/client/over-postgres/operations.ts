/** Does what a person asks to be done to a run. */
import type { OperationVerb } from "../../postgres/wire-verbs.ts";
import { type OperationOptions, type OperationReceipt, operationCall, receiptOf } from "../operations.ts";
import { type ClientContext, found } from "./client-context.ts";
import { translated } from "./failure.ts";

export async function operate(
  context: ClientContext,
  verb: OperationVerb,
  runId: string,
  options: OperationOptions,
): Promise<OperationReceipt> {
  const call = operationCall(runId, options);
  const answer = found(await translated(() => context.calls.operate(verb, call)), call);
  const receipt = receiptOf(verb, answer);
  if ("turn" in answer) await context.dispatchSoon(answer.runId, answer.turn);
  if ("branches" in answer) await context.dispatchBranches(answer.runId, answer.branches ?? []);
  return receipt;
}
