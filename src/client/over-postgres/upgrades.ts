/** Moves a run to another version of its workflow. Who asks has replayed its history with the code of that version. */
import { LayoverError } from "../../core/errors.ts";
import type { Looked } from "../../postgres/wire-replay.ts";
import { type OperationOptions, operationCall } from "../operations.ts";
import { type ClientContext, found } from "./client-context.ts";
import { translated } from "./failure.ts";

export interface UpgradeOptions extends OperationOptions, Looked {
  readonly from: number;
  readonly to: number;
  /** The signature of the new version's contract. */
  readonly signature: string;
}

export interface UpgradeReceipt {
  readonly runId: string;
  /** `moved_on`, `at_work`: nothing was done. */
  readonly outcome: "upgraded" | "moved_on" | "at_work";
}

/** @throws LayoverError `unknown_run`, `not_applicable`, `too_many_operations` */
export async function upgradeRun(
  context: ClientContext,
  runId: string,
  { from, to, signature, epoch, turn, position, lastMail, ...asked }: UpgradeOptions,
): Promise<UpgradeReceipt> {
  const looked = { epoch, turn, position, lastMail };
  const call = { ...operationCall(runId, asked), ...looked, from, to, signature };
  const answer = found(await translated(() => context.calls.upgradeRun(call)), call);
  if (answer.outcome === "not_carried") {
    throw new LayoverError(
      "not_applicable",
      `no deployment carries version ${to}, so nobody would carry out ${runId}`,
      {
        hint: "Deploy code that has both versions first.",
        details: { runId },
      },
    );
  }
  if (answer.outcome === "not_applicable") {
    const { status } = answer;
    throw new LayoverError("not_applicable", `the run ${runId} is ${status}, so it keeps its version`, {
      hint: "A run that has ended, or is about to, is not moved.",
      details: { runId, runStatus: status },
    });
  }
  if (answer.outcome === "upgraded") {
    await context.dispatchSoon(runId, answer.turn);
    await context.dispatchBranches(runId, answer.branches ?? []);
  }
  return { runId: answer.runId, outcome: answer.outcome };
}
