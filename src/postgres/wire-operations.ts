/** What the SQL functions behind the acts of people on runs take and answer. As in wire.ts. */
import type { OtherTurn, Place, RecordKind } from "./wire.ts";
import type { RunStatus, WireFilter } from "./wire-views.ts";

/** What a person may do to a run, or to many. */
export type OperationVerb = "pause" | "resume" | "cancel" | "terminate";
/** What a person may do to one run. */
export type SingleVerb = OperationVerb | "delete";
export interface OperationCall {
  readonly runId: string;
  readonly callId: string;
  readonly reason?: string;
  readonly by?: string;
}
export type OperationAnswer =
  | { readonly outcome: "paused" | "deleted"; readonly runId: string }
  | {
      readonly outcome: "cancelled" | "terminated";
      readonly runId: string;
      /** The turns of the run that waited for its end, and of those that are asked to end with it. */
      readonly others?: readonly OtherTurn[];
    }
  | {
      /** It cleans up first. */
      readonly outcome: "cancelling";
      readonly runId: string;
      /** The run's turn, if it may be claimed at once. */
      readonly turn?: number;
      /** The turns of the runs that are asked to end with it. */
      readonly others?: readonly OtherTurn[];
    }
  | {
      readonly outcome: "resumed";
      readonly runId: string;
      /** The run's turn and the branches that may be claimed at once. */
      readonly turn?: number | null;
      readonly branches?: readonly (Place & { readonly turn: number })[] | null;
    }
  | { readonly outcome: "not_applicable"; readonly runId: string; readonly status: RunStatus }
  | { readonly outcome: "unknown" };

/** `epoch`: the one that its caller has seen. */
interface RepairCall extends OperationCall {
  readonly epoch?: number;
}
export interface RetryCall extends RepairCall {
  readonly results?: readonly (Place & { readonly value: string })[];
  readonly signal?: { readonly signalId: string; readonly name: string; readonly encodedPayload: string };
}
export interface RestartCall extends RepairCall {
  readonly from?: Place;
  readonly encodedInput?: string;
  readonly dryRun?: true;
}
export interface ForkCall {
  readonly runId: string;
  readonly newRunId: string;
  readonly epoch?: number;
  readonly from?: Place;
  readonly id?: string;
  readonly encodedInput?: string;
}
/** A record that a restart drops. */
export interface CutRecord extends Place {
  readonly position: number;
  readonly kind: RecordKind;
  readonly isFailure: boolean;
}
interface Cut {
  readonly runId: string;
  /** How many records stand before the cut, and how many after it. */
  readonly kept: number;
  readonly dropped: number;
}
export type RepairAnswer =
  | (Cut & {
      readonly outcome: "retried" | "restarted";
      readonly epoch: number;
      readonly turn?: number;
      /** The turns of other runs that may be claimed at once: they are asked to end. */
      readonly others?: readonly { readonly runId: string; readonly turn: number }[] | null;
    })
  | { readonly outcome: "child_failed"; readonly runId: string; readonly children: readonly string[] }
  | (Cut & { readonly outcome: "would_restart"; readonly records: readonly CutRecord[] })
  | { readonly outcome: "forked"; readonly runId: string; readonly turn?: number }
  /** `closing`, `compensating`: it is to end, also where it is blocked or paused amid that. */
  | { readonly outcome: "not_applicable"; readonly runId: string; readonly status: RunStatus }
  | { readonly outcome: "at_work"; readonly runId: string; readonly until: number }
  | { readonly outcome: "epoch_changed"; readonly runId: string; readonly epoch: number }
  | { readonly outcome: "signal_closed"; readonly runId: string; readonly name: string }
  | { readonly outcome: "unknown_place" | "closing" | "conflict"; readonly runId: string }
  | ({ readonly outcome: "compensated"; readonly runId: string } & Partial<Place>)
  /** The run waited for another one, which it had invoked at this place. */
  | ({ readonly outcome: "child_open"; readonly runId: string } & Place)
  | {
      readonly outcome: "would_repeat" | "result_needed";
      readonly runId: string;
      readonly places: readonly Place[];
      /** Why the code does not fit what would be kept. */
      readonly why?: string;
    };

/** What a person may do to all runs that fit a filter. */
export type ManyVerb = SingleVerb | "retry" | "restart" | "signal";
/** What a person does to all runs that fit a filter: one page of them. */
export interface OperateRunsCall {
  readonly verb: ManyVerb;
  readonly filter: WireFilter;
  /** A uuid of version 7. Its time fixes the set. Left out: the database makes one. */
  readonly callId?: string;
  /** The `next` of the page before. */
  readonly before?: string;
  readonly limit: number;
  readonly walk: number;
  readonly reason?: string;
  readonly by?: string;
  readonly dryRun?: boolean;
  /** The place that a restart goes on from. Left out: the start. */
  readonly from?: Place;
  readonly signal?: { readonly name: string; readonly encodedPayload: string };
  /** Whether the deletion asks runs to end that are not over. */
  readonly cancels?: boolean;
  /** Whether they are paused or resumed with their workflow, which the filter names. */
  readonly holds?: true;
}
export interface OperateRunsAnswer {
  readonly callId: string;
  /** How many runs of this page fit. */
  readonly runs: number;
  readonly next: string | null;
  /** How many runs have had each outcome. Not in a dry run, as are the next three. */
  readonly outcomes?: Readonly<Record<string, number>>;
  readonly refused?: readonly WireRefusals[];
  readonly turns?: readonly { readonly runId: string; readonly turn: number }[];
  readonly branches?: readonly (Place & { readonly runId: string; readonly turn: number })[];
  /** How many runs are in each status. Only in a dry run. */
  readonly statuses?: Readonly<Record<string, number>>;
  /** The first ten of them. Only in a dry run. */
  readonly runIds?: readonly string[];
}
/** The pause of a workflow, or its end. */
export interface WorkflowCall {
  readonly workflow: string;
  readonly callId: string;
  readonly reason?: string;
  readonly by?: string;
}
export type WorkflowAnswer =
  | {
      /** How the workflow is now. */
      readonly outcome: "paused" | "resumed";
      /** Id of the call that paused it, or of this one. */
      readonly callId: string;
      /** Whether no start is under way that has not seen it. */
      readonly isCertain: boolean;
    }
  | { readonly outcome: "not_applicable" };
export interface WireRefusals {
  readonly code: "not_applicable" | "too_many_operations";
  readonly runs: number;
  /** The first ten. */
  readonly runIds: readonly string[];
}
