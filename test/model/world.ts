/**
 * The reference model: what the words of src/core/README.md mean for runs (run.ts), in plain TypeScript. Its world is the
 * runs, the holders of their leases, the deployments, and what was sent last. It knows nothing of tables and locks; what SQL
 * stores as a number (a map's free slots, what it waits for) is counted here.
 */
import type { OperationCall, SingleVerb } from "../../src/postgres/wire-operations.ts";
import type { UpgradeCall } from "../../src/postgres/wire-replay.ts";
import type { CallbackAnswer, Place, Row, Run, Signal } from "./run.ts";

/** A claimer that got a lease, and what the claim told it: enough to finish, now or much too late. */
export interface RunHolder {
  readonly of: "run";
  readonly runId: string;
  readonly namespace: string;
  readonly token: string;
  readonly turn: number;
  /** The last position it saw. */
  readonly seen: number;
  readonly claimedAt: number;
  readonly lastRecordAt: number;
  readonly timeoutAt: number | undefined;
  /** What its handler waits for. */
  readonly awaited: readonly Row[];
  readonly hasLosers: boolean;
  readonly signals: readonly Signal[];
  readonly answers: readonly CallbackAnswer[];
}
export interface BranchHolder extends Place {
  readonly of: "branch";
  readonly runId: string;
  readonly namespace: string;
  readonly token: string;
  readonly turn: number;
  readonly attempts: number;
}
export type Holder = RunHolder | BranchHolder;

export interface Deployment {
  readonly namespace: string;
  readonly name: string;
  readonly id: string;
  /** Versions of the one workflow that it carries. */
  readonly versions: readonly number[];
  readonly deployedAt: number;
  seenAt: number;
}

export interface World {
  now: number;
  readonly namespaces: readonly [string, string];
  /** Ids for runs, in order; a run gets the id of its letter. */
  readonly ids: readonly string[];
  runs: Run[];
  holders: Holder[];
  /** Runs that somebody has deleted, as long as they are known. */
  deletions: { readonly namespace: string; readonly runId: string; readonly at: number }[];
  /** The latest pause of the one workflow, in each namespace that had one. */
  workflowPauses: Map<string, { callId: string; isPaused: boolean; resumeCallId: string | undefined }>;
  /** Text of each finish that was sent, to send it again. */
  sent: Map<string, string>;
  environments: Map<string, string>;
  /** All deployments that were ever noted, also those that are gone. */
  deployments: Deployment[];
  /** What the scheduler saw last. */
  listing: Listing | undefined;
  lastSignal: { readonly id: string; readonly runId: string; readonly name: string } | undefined;
  lastOperation: { readonly verb: SingleVerb; readonly call: OperationCall } | undefined;
  lastUpgrade: (UpgradeCall & { readonly runId: string }) | undefined;
  numbers: { token: number; signal: number; operation: number };
  /** The instants at which a tick is certain to happen, or that somebody keeps for the next one. */
  armed: readonly number[];
  /**
   * The last instant for which a run may be due although it must be looked at before. No alarm stands for a lease that
   * ends before its time: voided, or given back. A turn that was dispatched in vain is looked at less and less often,
   * but may be claimed after all: a claim does not touch the due instant.
   */
  lateUntil: number;
}
export interface Listed extends Place {
  readonly turn: number;
  readonly dispatches: number;
  readonly isUnfinished: boolean;
  readonly groupSize: number | null;
}
export interface ListedRun {
  readonly runId: string;
  readonly turn: number;
  readonly dueAt: number | null;
  readonly dispatches: number;
  readonly isReady: boolean;
  readonly isUnfinished: boolean;
  readonly groupSize: number | null;
  readonly nextAt: number | null;
  readonly ownAt: number | null;
  readonly timeoutAt: number | null;
  readonly branches: readonly Listed[];
  readonly later: readonly (Place & { readonly turn: number; readonly at: number })[];
}
export interface Listing {
  readonly namespace: string;
  readonly now: number;
  readonly isNew: boolean;
  readonly withinMs: number;
  readonly readyWithinMs: number;
  readonly limit: number;
  readonly runs: readonly ListedRun[];
}

export function aWorld(name: string, ids: readonly string[]): World {
  return {
    now: Date.UTC(2026, 0, 1, 12),
    namespaces: [`${name}_one`, `${name}_two`],
    ids,
    runs: [],
    holders: [],
    deletions: [],
    workflowPauses: new Map(),
    sent: new Map(),
    environments: new Map(),
    deployments: [],
    listing: undefined,
    lastSignal: undefined,
    lastOperation: undefined,
    lastUpgrade: undefined,
    numbers: { token: 0, signal: 0, operation: 0 },
    armed: [],
    lateUntil: 0,
  };
}
