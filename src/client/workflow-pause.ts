/**
 * The pause of a workflow: its new runs are held, and those that are there are paused page by page. Its resume resumes what
 * it has paused, and nothing else.
 */
import { v7 } from "uuid";
import { LayoverError } from "../core/errors.ts";
import { checkName } from "../core/names.ts";
import type { HostClock } from "../core/ports.ts";
import { pause } from "../core/waits.ts";
import type { OperateRunsCall, WorkflowAnswer, WorkflowCall } from "../postgres/wire-operations.ts";
import {
  type ManyOptions,
  type ManyPage,
  type ManyPageOptions,
  type ManyReceipt,
  manyCall,
  operateMany,
} from "./many.ts";
import { operationTerms } from "./operations.ts";

export type WorkflowVerb = "pause" | "resume";

export type WorkflowPauseOptions = Omit<ManyOptions, "dryRun">;

/** What became of the runs of a workflow that was paused or resumed. */
export interface WorkflowReceipt extends ManyReceipt {
  /**
   * Whether a transaction that has started runs of it stayed open, so that these may be left as they were. Call again with
   * the `callId` once it has ended.
   */
  readonly mayMissStarts: boolean;
}

/** One page of it. */
export interface WorkflowPage extends ManyPage {
  readonly mayMissStarts: boolean;
}

const mostTries = 5;
const againMs = 1_000;

/** Asks for one page after the other. The first one also pauses or resumes the workflow itself. */
export async function changeWorkflow(
  ask: (page: ManyPageOptions) => Promise<WorkflowPage>,
  { callId = v7(), ...options }: WorkflowPauseOptions,
  host: HostClock,
): Promise<WorkflowReceipt> {
  let mayMissStarts = false;
  const askAndNote = async (page: ManyPageOptions): Promise<ManyPage> => {
    const told = await ask(page);
    mayMissStarts ||= told.mayMissStarts;
    return told;
  };
  return { ...(await operateMany(askAndNote, { ...options, callId }, host)), mayMissStarts };
}

/** @throws LayoverError `invalid_name`, `invalid_request`, `invalid_cursor` */
export function workflowCalls(
  verb: WorkflowVerb,
  workflow: string,
  { callId = v7(), ...page }: ManyPageOptions,
): { readonly first: WorkflowCall; readonly page: OperateRunsCall } {
  const filter = { workflow: checkName(workflow, "workflow") };
  const call = manyCall(verb, filter, { ...page, callId });
  return { first: { ...filter, callId, ...operationTerms(page) }, page: { ...call, holds: true } };
}

/** Sends the first call until no start is under way that may not have seen it, some seconds at most. @throws LayoverError `not_applicable` */
export async function untilCertain(
  send: () => Promise<WorkflowAnswer>,
  workflow: string,
  host: HostClock,
): Promise<{ readonly callId: string; readonly mayMissStarts: boolean }> {
  for (let tries = 1; ; tries += 1) {
    const answer = await send();
    if (answer.outcome === "not_applicable") {
      throw new LayoverError("not_applicable", `the workflow ${JSON.stringify(workflow)} is not paused`, {
        hint: "Only a paused workflow can be resumed. Nothing is left to do. Look at its name.",
        details: { workflow },
      });
    }
    const { callId, isCertain } = answer;
    if (isCertain || tries === mostTries) return { callId, mayMissStarts: !isCertain };
    await pause(host, againMs);
  }
}
