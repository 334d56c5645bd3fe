/** A run as the reference model has it: its state, its history, and what it waits for. */
import type { EndsAs, PendingKind, RecordKind } from "../../src/postgres/wire.ts";

export type Status = "parked" | "running" | "completed" | "failed" | "cancelled";

export interface Place {
  readonly path: string;
  readonly occurrence: number;
}
export interface Lease {
  readonly token: string;
  until: number;
}
/** A record of the history; its position is its place in the list, from 1. */
export interface Entry extends Place {
  readonly kind: RecordKind;
  readonly value: string | null;
  readonly isFailure: boolean;
  readonly at: number;
  readonly attempts: number;
}
/** What a run waits for: a branch, an inline step between its attempts, a sleep, a wait. */
export interface Row extends Place {
  readonly kind: PendingKind;
  readonly demandedAfter: number;
  readonly ordinal: number;
  readonly signal: string | undefined;
  readonly until: number | undefined;
  /** Whether it cleans up, so that it outlives the cancel. */
  readonly isShielded: boolean;
  /** Whether somebody has claimed it. */
  hasBegun: boolean;
  /** Path of its map. Undefined: it has none, or has left it because it lost a race. */
  map: string | undefined;
  turn: number;
  attempts: number;
  loneClaims: number;
  /** How many of the lone claims were about to begin their turn. */
  beginnings: number;
  /** The attempt that was written down last as one that begins. */
  begun: string | undefined;
  losses: Losses;
  dispatches: number;
  isQueued: boolean;
  /** Whether its map waits for it. */
  isCounted: boolean;
  isReleased: boolean;
  readyAt: number | undefined;
  lease: Lease | undefined;
  lastFinish: { readonly token: string; readonly answer: Answer } | undefined;
  setback: Setback | undefined;
  /** Position of its record in the history. Nobody has been handed that record yet. */
  position: number | undefined;
}
/** Leases in a row that were lost: another claim followed instead of a finish. */
export interface Losses {
  readonly count: number;
  /** How many of these losses were reported by a holder that was alive. */
  readonly spared: number;
  /** Token of the last of these leases, unless it was spared. */
  readonly token: string | undefined;
}
export const noLosses: Losses = { count: 0, spared: 0, token: undefined };
/** A turn did not get on, and is tried again. A setback counts only while `turn` is the next turn, or under way. */
export interface Setback {
  readonly turn: number;
  /** Which try comes next, from 1. */
  readonly tries: number;
  readonly since: number;
  readonly until: number;
}

export interface Signal {
  readonly number: number;
  readonly id: string;
  readonly name: string;
  readonly payload: string;
  readonly dedupeId: string | undefined;
  readonly receivedAt: number;
  takenAt: number | undefined;
}
export interface CallbackAnswer extends Place {
  outcome: "resolved" | "rejected" | "expired";
  value: string | null;
  answeredAt: number;
  takenAt: number | undefined;
}
/** What the database is expected to say. */
export type Answer = Readonly<Record<string, unknown>>;

export interface Run {
  readonly id: string;
  readonly namespace: string;
  readonly workflow: string;
  version: number;
  /** Signature of the contract that its code has. Null: it was started without one. */
  signature: string | null;
  /** Whether it was moved to another version, or to its own anew. */
  isMoved: boolean;
  readonly userId: string | undefined;
  readonly input: string;
  timeoutAt: number | undefined;
  status: Status;
  /** The turn under way, or the next one. */
  turn: number;
  /** Position up to which the handler was run; -1: not at all. */
  handed: number;
  loneClaims: number;
  /** How many of the lone claims were about to begin their turn. */
  beginnings: number;
  /** The attempt that was written down last as one that begins. */
  begun: string | undefined;
  losses: Losses;
  dispatches: number;
  history: Entry[];
  /** Bytes of the values of its records, as its finishes gave them. */
  historyBytes: number;
  lastRecordAt: number;
  lease: Lease | undefined;
  readyAt: number | undefined;
  /**
   * Due instant, as it was last found in the table. The model only says when there must be one, and which may be
   * right.
   */
  dueAt: number | undefined;
  lastFinish: { readonly token: string; readonly answer: Answer } | undefined;
  isBlocked: boolean;
  /** When each deployment refused it, by the deployment's id. */
  readonly refusals: Map<string, number>;
  setback: Setback | undefined;
  /** Names of signals that it takes no more. */
  closed: string[];
  /** What it says of itself. */
  says: string | null;
  pausedAt: number | undefined;
  /** Whether it was paused with its workflow. */
  isHeld: boolean;
  /** What each call of a person was told, by the call's id. */
  readonly operations: Map<string, Answer>;
  /** Whether its cancel was asked for, and the reason. */
  cancel: { readonly reason: string | undefined } | undefined;
  /** Whether its handler has ended, so that nothing new begins until the last lease is over. */
  isClosing: boolean;
  /** How it ends then, as the finish said that has closed it. */
  endsAs: EndsAs | undefined;
  /** Whether a turn was begun since its last finish, and was not finished. */
  isInterrupted: boolean;
  /** Where its history says how it ends and what is to be undone, how many undos that is, and how many have failed. */
  ending: { readonly position: number; readonly undos: number; failed: number | undefined } | undefined;
  cancelledPosition: number | undefined;
  endedAt: number | undefined;
  result: string | null;
  error: string | null;
  rows: Row[];
  maps: Map<string, { readonly slots: number | null; readonly failsFast: boolean }>;
  signals: Signal[];
  /** More signals, which are never offered: how many, their bytes together, and the number of the last one. */
  flood: { readonly count: number; readonly bytes: number; readonly last: number } | undefined;
  answers: CallbackAnswer[];
  /** Attempts that failed, each as its place and its number. */
  readonly attempts: Set<string>;
  /** How often the handler has asked for something at each path. */
  occurrences: Map<string, number>;
}
