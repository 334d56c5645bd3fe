/** What the SQL functions behind API keys and `layover doctor` take and answer. As in wire.ts. */
import type { WireSchedule } from "./wire-schedules.ts";

export interface KeyCall {
  readonly keyId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: number;
}
export interface WireKey {
  readonly keyId: string;
  /** Null: the key was made elsewhere, and is known here only since it was revoked. Then the fields below are null too. */
  readonly name: string | null;
  readonly scopes: readonly string[] | null;
  readonly createdAt: number | null;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}
export interface RevokeAnswer {
  /** `elsewhere`: the id is that of a key of another namespace, and nothing was revoked. */
  readonly outcome: "revoked" | "unknown" | "elsewhere";
  /** The name is null where nobody made it here. */
  readonly keys: readonly { readonly keyId: string; readonly name: string | null }[];
  readonly madeIn?: string;
}

/** Runs of one version that do not get on, all for the same reason. */
export interface Trouble {
  /**
   * What holds the runs up. `blocked`: they are blocked. `setback`: they are tried again later. `refused`: a deployment
   * refused them, and no other one took them. `crashes`: they were claimed and not finished. `unclaimed`: they were
   * dispatched and not claimed. `overdue`: they are due, and nobody looks.
   */
  readonly keptBy: "blocked" | "setback" | "refused" | "crashes" | "unclaimed" | "overdue";
  readonly workflow: string;
  readonly version: number;
  /** Why they are blocked, refused or tried again later. */
  readonly reason: string | null;
  /** Ids of the deployments that have refused them, separated by commas. Null: none has. */
  readonly refusedBy: string | null;
  readonly runs: number;
  /** The earliest due instant. */
  readonly since: number | null;
  /** The most of one run. */
  readonly dispatches: number | null;
  readonly claims: number | null;
  /** One of them. */
  readonly example: string;
}
/** The environment that a namespace belongs to. */
export interface KnownEnvironment {
  readonly name: string;
  /** The address at which it was adopted. */
  readonly endpoint: string;
  readonly adoptedAt: number;
  /** All addresses that lead to it, `endpoint` included. */
  readonly addresses: readonly string[];
  /** Whether this is the database that the namespace belongs to. Null: only its address was ever written down. */
  readonly isSameDatabase: boolean | null;
}

/** A build of a host that may carry out runs now. */
export interface LiveDeployment {
  readonly name: string;
  readonly id: string;
  readonly deployedAt: number;
  /** When its last tick was noted, which happens once an hour at most. Functions of an earlier release leave it out. */
  readonly seenAt?: number;
  /** The versions of each workflow that it carries. Functions of an earlier release leave it out. */
  readonly versions?: Readonly<Record<string, readonly number[]>>;
  /** Where other deployments ring. Null: nowhere. Functions of an earlier release leave it out. */
  readonly wakeAddress?: string | null;
}

/** Runs of one workflow and version that are not over. */
export interface WaitingVersion {
  readonly workflow: string;
  readonly version: number;
  readonly runs: number;
  /** Names of the live deployments that carry it. */
  readonly carriers: readonly string[];
}

export interface Diagnosis {
  readonly now: number;
  readonly environment: KnownEnvironment | null;
  /** The other namespaces in which something was carried out. */
  readonly otherNamespaces: readonly string[];
  readonly hasRuns: boolean;
  /** The deployments that are alive. */
  readonly deployments: readonly LiveDeployment[];
  /** There is more that is due than was looked at. */
  readonly isCut: boolean;
  /** When a turn ended, as far as it was looked at. */
  readonly lastTurnAt: number | null;
  readonly troubles: readonly Trouble[];
  /** The workflows that are paused. Undefined: the schema is older. */
  readonly pausedWorkflows?: readonly {
    readonly workflow: string;
    readonly since: number;
    readonly by: string | null;
    readonly reason: string | null;
  }[];
  /** Runs that ended within the last week, and of which an undo failed for good. Undefined: the schema is older. */
  readonly halfUndone?: readonly HalfUndone[];
  /** Runs that close, and wait for runs that they have cancelled, for minutes already. Undefined: the schema is older. */
  readonly closing?: readonly ClosingRuns[];
  /** The versions of the newest runs that are not over. Undefined: the schema is older. */
  readonly waiting?: readonly WaitingVersion[];
  /** Runs that were started with another contract than those that are deployed. Undefined: the schema is older. */
  readonly otherContracts?: readonly OtherContract[];
  /** Schedules that do not fire, or not as some code says. Undefined: the schema is older. */
  readonly schedules?: readonly WireSchedule[];
}

/** Runs of one workflow and version that wait for runs that they have cancelled. */
export interface ClosingRuns {
  readonly workflow: string;
  readonly version: number;
  readonly runs: number;
  /** When the first one began to wait, epoch milliseconds. */
  readonly since: number;
  /** Id of the one that has waited the longest. */
  readonly example: string;
  /** Id of a run for which that one waits. */
  readonly waitsFor: string;
}

/** Runs of one workflow and version that are not over. */
export interface OtherContract {
  readonly workflow: string;
  readonly version: number;
  readonly runs: number;
  /** Id of one of them. */
  readonly example: string;
}

/** Runs of one workflow and version. */
export interface HalfUndone {
  readonly workflow: string;
  readonly version: number;
  readonly runs: number;
  /** How many undos of them failed for good. */
  readonly undos: number;
  /** When the first of them ended. */
  readonly since: number;
  /** Id of the one that ended last. */
  readonly example: string;
}
