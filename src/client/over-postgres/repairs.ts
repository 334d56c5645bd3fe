/** Retries, restarts and forks runs. */
import { LayoverError } from "../../core/errors.ts";
import type { ForkCall, RepairAnswer, RestartCall, RetryCall } from "../../postgres/wire-operations.ts";
import { refusalOf } from "../repair-refusals.ts";
import {
  type ForkOptions,
  type ForkReceipt,
  forkCall,
  type RepairReceipt,
  type RestartOptions,
  type RestartPlan,
  type RetryOptions,
  restartCall,
  retryCall,
} from "../repairs.ts";
import { type ClientContext, found } from "./client-context.ts";
import { translated } from "./failure.ts";

export async function retry(context: ClientContext, runId: string, options: RetryOptions): Promise<RepairReceipt> {
  return receiptOf(await repair(context, "retry", await retryCall(runId, options, context.valueBytes)));
}

export async function restart(context: ClientContext, runId: string, options: RestartOptions): Promise<RepairReceipt> {
  return receiptOf(await repair(context, "restart", await restartCall(runId, options, context.valueBytes)));
}

export async function planRestart(
  context: ClientContext,
  runId: string,
  options: RestartOptions,
): Promise<RestartPlan> {
  const call = await restartCall(runId, options, context.valueBytes);
  const answer = await repair(context, "restart", { ...call, dryRun: true });
  if (answer.outcome !== "would_restart") throw unexpected(answer);
  const { kept, dropped, records } = answer;
  return { runId: answer.runId, kept, dropped, records };
}

export async function fork(context: ClientContext, runId: string, options: ForkOptions): Promise<ForkReceipt> {
  const call = await forkCall(runId, options, { maxBytes: context.valueBytes, now: () => context.nowForNewRun() });
  const answer = await repair(context, "fork", call);
  if (answer.outcome !== "forked") throw unexpected(answer);
  return { runId: answer.runId, outcome: answer.outcome };
}

async function repair(
  context: ClientContext,
  verb: "retry" | "restart" | "fork",
  call: RetryCall | RestartCall | ForkCall,
): Promise<RepairAnswer> {
  const answer = found(await translated(() => context.calls.repair(verb, call)), call);
  const refusal = refusalOf(verb, answer, "from" in call ? call.from : undefined);
  if (refusal !== undefined) throw refusal;
  if ("turn" in answer) await context.dispatchSoon(answer.runId, answer.turn);
  if ("others" in answer) await context.dispatchMany({ turns: answer.others ?? [] });
  return answer;
}

function receiptOf(answer: RepairAnswer): RepairReceipt {
  if (answer.outcome !== "retried" && answer.outcome !== "restarted") throw unexpected(answer);
  const { runId, outcome, epoch, kept, dropped } = answer;
  return { runId, outcome, epoch, kept, dropped };
}

function unexpected({ outcome }: RepairAnswer): LayoverError {
  return new LayoverError("unexpected_answer", `the database answered ${JSON.stringify(outcome)}`, {
    hint: "It was migrated by a later release. Upgrade layover here.",
  });
}
