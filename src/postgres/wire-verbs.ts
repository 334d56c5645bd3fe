/** What the SQL functions behind starts, signals and answers of callbacks take and answer. As in wire.ts. */
import type { Place } from "./wire.ts";

export interface StartCall {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  /** That of the contract. */
  readonly signature?: string;
  readonly encodedInput: string;
  /** A digest of the input as it was sent, if the schema made something else of it (`encodedInput`). */
  readonly sent?: string;
  readonly id?: string;
  readonly delayMs?: number;
  readonly startAt?: number;
  readonly timeoutMs?: number;
  readonly tags?: Readonly<Record<string, string>>;
  readonly traceparent?: string;
  readonly commitWithinMs?: number;
}
export type StartAnswer =
  | {
      readonly outcome: "started";
      readonly runId: string;
      /** Null: this call had started the run, and somebody has deleted it since. */
      readonly turn?: number | null;
      readonly readyAt?: number;
      /** Version of the run, if this call had started it before. */
      readonly version?: number;
      readonly now: number;
    }
  | { readonly outcome: "exists"; readonly runId: string; readonly version: number; readonly now: number }
  | { readonly outcome: "conflict"; readonly runId: string | null; readonly now: number };

/** A run by our id, or by its workflow and the user's own id. */
export type RunKey = { readonly runId: string } | { readonly workflow: string; readonly id: string };

export type SignalCall = RunKey & {
  readonly signalId: string;
  readonly name: string;
  readonly encodedPayload: string;
  readonly dedupeId?: string;
};
export type SignalAnswer =
  | { readonly outcome: "sent"; readonly runId: string; readonly turn?: number | null; readonly now?: number }
  | { readonly outcome: "duplicate" | "closed"; readonly runId: string }
  | { readonly outcome: "over"; readonly runId: string; readonly status: string }
  | { readonly outcome: "unknown" };

export type SignalWithStartCall = StartCall & Pick<SignalCall, "signalId" | "name" | "encodedPayload" | "dedupeId">;
export type SignalWithStartAnswer =
  | (Exclude<SignalAnswer, Unknown> & {
      /** Whether this call has started the run. */
      readonly isNew: boolean;
      /** Version of the run, if the run was there and has the same input. */
      readonly version: number | null;
      /** The run's turn, if it may be claimed. */
      readonly turn?: number | null;
      /** The instant from which on it may be claimed, if the run is new. */
      readonly readyAt?: number | null;
      readonly now: number;
    })
  | Extract<StartAnswer, { outcome: "conflict" }>;

/** The fields of a callback's URL by which the database finds its wait, and knows whether the URL still counts. */
export interface CallbackUrl extends Place {
  readonly runId: string;
  readonly epoch: number;
  /** How many records its run had handed out when it was made. Left out: nobody knows. */
  readonly madeAt?: number;
  /** The epoch of its run when it was made. Left out: the first one, or nobody knows. */
  readonly madeIn?: number;
}
export interface CallbackCall extends CallbackUrl {
  readonly outcome: "resolved" | "rejected";
  readonly value: string;
  /** A digest of the answer as it was sent, if the schema made something else of it (`value`). */
  readonly sent?: string;
}
export type CallbackAnswer =
  | { readonly outcome: "answered"; readonly turn?: number | null; readonly now?: number }
  | { readonly outcome: "conflict" | "expired" | "over" | "unknown" };
export interface CallbackState {
  readonly outcome: "open" | "resolved" | "rejected" | "expired" | "over" | "unknown";
  readonly until?: number | null;
}

export interface Unknown {
  readonly outcome: "unknown";
}
