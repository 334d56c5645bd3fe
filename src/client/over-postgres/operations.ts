/** Does what a person asks to be done to a run, or to many. */
import { placeIn } from "../../core/replay/demand.ts";
import type { ManyVerb, SingleVerb } from "../../postgres/wire-operations.ts";
import type { RunFilter } from "../filter.ts";
import { encodedPayload } from "../mail.ts";
import { type ManyPage, type ManyPageOptions, type ManySignal, manyCall, manyPage } from "../many.ts";
import { type OperationOptions, type OperationReceipt, operationCall, receiptOf } from "../operations.ts";
import { untilCertain, type WorkflowPage, type WorkflowVerb, workflowCalls } from "../workflow-pause.ts";
import { type ClientContext, found } from "./client-context.ts";
import { translated } from "./failure.ts";

export async function operate(
  context: ClientContext,
  verb: SingleVerb,
  runId: string,
  options: OperationOptions,
): Promise<OperationReceipt> {
  const call = operationCall(runId, options);
  const answer = found(await translated(() => context.calls.operate(verb, call)), call);
  const receipt = receiptOf(verb, answer);
  if (verb === "cancel" || verb === "terminate") void context.onEndAsked(answer.runId);
  if ("turn" in answer) await context.dispatchSoon(answer.runId, answer.turn);
  if ("branches" in answer) await context.dispatchBranches(answer.runId, answer.branches ?? []);
  if ("others" in answer) await context.dispatchMany({ turns: answer.others ?? [] });
  return receipt;
}

/** Does it to one page of the runs that fit. */
export async function operatePage(
  context: ClientContext,
  verb: ManyVerb,
  filter: RunFilter,
  { signal, from, ...options }: ManyPageOptions,
): Promise<ManyPage> {
  const call = {
    ...manyCall(verb, filter, options),
    ...(from !== undefined && { from: placeIn(from) }),
    ...(signal !== undefined && { signal: await encoded(context, signal) }),
  };
  const answer = await translated(() => context.calls.operateRuns(call));
  await context.dispatchMany(answer);
  return manyPage(answer);
}

async function encoded({ limits }: ClientContext, { name, payload, contract }: ManySignal) {
  return { name, encodedPayload: await encodedPayload(contract, name, payload, limits.valueBytes) };
}

/** Pauses or resumes a workflow, and does so to one page of its runs. */
export async function changeWorkflowPage(
  context: ClientContext,
  verb: WorkflowVerb,
  workflow: string,
  options: ManyPageOptions,
): Promise<WorkflowPage> {
  const { first, page } = workflowCalls(verb, workflow, options);
  const send = () => translated(() => context.calls.changeWorkflow(verb, first));
  const known = { callId: first.callId, mayMissStarts: false };
  const { callId, mayMissStarts } =
    options.cursor === undefined ? await untilCertain(send, workflow, context.host) : known;
  const answer = await translated(() => context.calls.operateRuns({ ...page, callId }));
  await context.dispatchMany(answer);
  return { ...manyPage({ ...answer, callId }), mayMissStarts };
}
