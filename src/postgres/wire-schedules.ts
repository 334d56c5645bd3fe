/** What the SQL functions of schedules take and answer, as in wire.ts. The scheduler's own are in wire-scheduler.ts. */
import type { DeclaredSchedule, Skip } from "./wire-scheduler.ts";

export interface WireSchedule {
  readonly name: string;
  /** The deployment whose code declares it. Null: it was made at run time. */
  readonly owner: string | null;
  readonly definition: DeclaredSchedule;
  readonly nextAt: number | null;
  readonly firesAt: number | null;
  readonly pausedAt: number | null;
  readonly pausedBy: string | null;
  readonly pausedReason: string | null;
  readonly lastAt: number | null;
  readonly lastFiredAt: number | null;
  readonly lastRunId: string | null;
  readonly fired: number;
  readonly skipped: number;
  readonly skippedInRow: number;
  readonly lastSkip: Skip | null;
  readonly rivalOwner: string | null;
  /** The live deployments beside the owner whose code declares the same. Functions of an earlier release leave it out. */
  readonly alsoDeclaredBy?: readonly string[];
  /** Why it fires no more, though its pattern has no end. Functions of an earlier release leave it out. */
  readonly stoppedBecause?: string | null;
  readonly isCarried: boolean;
  readonly ownerIsLive: boolean;
  readonly workflowIsPaused: boolean;
  readonly createdAt: number;
  readonly changedAt: number;
}
export interface CreateScheduleCall {
  readonly name: string;
  readonly definition: DeclaredSchedule;
  /** Whether a schedule of that name that was made at run time gets this definition. */
  readonly replaces?: boolean;
}
export type CreateScheduleAnswer =
  | { readonly outcome: "created" | "exists" | "changed" | "conflict"; readonly schedule: WireSchedule }
  | { readonly outcome: "invalid"; readonly reason: string };
export interface ScheduleCall {
  readonly name: string;
  readonly by?: string;
  readonly reason?: string;
}
/** The schedule is null if there is none of that name, and after its deletion. */
export interface ScheduleAnswer {
  readonly outcome:
    | "unknown"
    | "paused"
    | "resumed"
    | "deleted"
    | "declared"
    | "adopted"
    | "not_applicable"
    | "triggered"
    | "skipped"
    | "invalid";
  readonly schedule: WireSchedule | null;
  readonly reason?: string;
  /** The run that was triggered. */
  readonly runId?: string;
  readonly turn?: number | null;
  /** Why none was. */
  readonly skip?: Omit<Skip, "at">;
}
export interface ListSchedulesCall {
  readonly limit: number;
  readonly after?: string;
  readonly workflow?: string;
}
export interface ListSchedulesAnswer {
  readonly schedules: readonly WireSchedule[];
  readonly hasMore: boolean;
}
