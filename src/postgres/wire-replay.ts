/** What the SQL functions take and answer by which a run is replayed elsewhere. As in wire.ts. */
import type { Patch } from "../core/replay/patches.ts";
import type { Place, WirePending, WireRecord, WireRun, WireSignal } from "./wire.ts";
import type { RunKey, Unknown } from "./wire-verbs.ts";
import type { WireFilter } from "./wire-views.ts";

/** What the first page has beside its records. */
export interface ReplayRest {
  /** The status that people see. */
  readonly status: string;
  /** Why the code did not fit when a deployment last tried. */
  readonly blocked: string | null;
  /** How the run ended, as the codec's text. */
  readonly result: string | null;
  readonly error: string | null;
  readonly run: WireRun;
  /** The changes of its code that the run has met. */
  readonly patches: readonly Patch[] | null;
  readonly pending: readonly (WirePending & { readonly signal: string | null; readonly childRunId: string | null })[];
  /** The attempts that failed. `error`: the codec's text. */
  readonly attempts: readonly (Place & {
    readonly number: number;
    readonly beganAt: number;
    readonly endedAt: number;
    readonly error: string;
  })[];
  /** How many signals of each name the run has not taken. */
  readonly mail: Readonly<Record<string, number>>;
}

/** A signal that the run took. Its payload is in the record. */
export interface WireTake {
  readonly position: number;
  readonly number: number;
  readonly name: string;
  readonly receivedAt: number;
}

export interface ReplayCall {
  /** The last position that the caller has. Left out: none. */
  readonly after?: number;
  /** The most bytes of records in the answer, roughly. Default: 2,000,000. */
  readonly budgetBytes?: number;
}

export interface ReplayPage {
  readonly outcome: "read";
  readonly now: number;
  readonly runId: string;
  readonly epoch: number;
  readonly turn: number;
  /** The position of the last record there is. */
  readonly position: number;
  /** The position up to which a handler was run on. -1: not at all. */
  readonly handedPosition: number;
  readonly records: readonly WireRecord[];
  readonly takes: readonly WireTake[];
  /** Null: this is not the first page. */
  readonly rest: ReplayRest | null;
}

export type ReplayAnswer = ReplayPage | Unknown;

export type ExportCall = RunKey &
  ReplayCall & { readonly callId: string; readonly reason?: string; readonly by?: string };

/** `not_applicable`: a further page was asked for without the first one. */
export type ExportAnswer = ReplayAnswer | { readonly outcome: "not_applicable" };

export interface MailCall {
  /** The number of the last signal that the caller has. Left out: none. */
  readonly after?: number;
  /** The most bytes of payloads in the answer, roughly. Default: 2,000,000. */
  readonly budgetBytes?: number;
}

/** A run as somebody has looked at it. It is still the same as long as all of these are. */
export interface Looked {
  readonly epoch: number;
  readonly turn: number;
  /** The position of its last record. */
  readonly position: number;
  /** The number of the last signal that it has not taken. 0: none. */
  readonly lastMail: number;
}

/** What a run may still be given. */
export interface MailPage extends Looked {
  readonly outcome: "read";
  readonly runId: string;
  /** Whether another run waits for its end. */
  readonly isAwaited: boolean;
  /** Signals that it has not taken. None: this was the last page. */
  readonly signals: readonly WireSignal[];
}

export type UpgradeCall = RunKey &
  Looked & {
    /** The version that it has, and the one that it is to have. */
    readonly from: number;
    readonly to: number;
    /** The signature of the new version's contract. */
    readonly signature: string;
    readonly callId: string;
    readonly reason?: string;
    readonly by?: string;
  };

export type UpgradeAnswer = { readonly runId: string } & (
  | {
      readonly outcome: "upgraded";
      readonly version: number;
      /** What is ready. Null or left out: nothing. */
      readonly turn?: number | null;
      readonly branches?: readonly (Place & { readonly turn: number })[] | null;
    }
  | { readonly outcome: "at_work"; readonly until: number }
  | { readonly outcome: "not_applicable"; readonly status: string }
  /** `moved_on`: it is not as it was looked at any more. `not_carried`: no deployment carries the new version. */
  | { readonly outcome: "moved_on" | "not_carried" }
);

/** Runs that are over fit no filter. */
export interface ParkedCall extends WireFilter {
  /** `next` of the page before. */
  readonly before?: string;
  /** How many runs a page has at most. Default: 500. */
  readonly limit?: number;
}

export interface ParkedPage {
  /** Left out by a database of an earlier release, which heeds workflow and version alone. */
  readonly isFiltered?: true;
  readonly runs: readonly {
    readonly runId: string;
    readonly workflow: string;
    readonly version: number;
    /** The same for runs whose histories have the same places. */
    readonly digest: string;
  }[];
  readonly next: string | null;
}
