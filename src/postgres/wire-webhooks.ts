/** What the SQL functions of webhooks take and answer, as in wire.ts. */
import type { SignalCall, StartCall } from "./wire-verbs.ts";

/** How long a signal is kept for a run that is not there yet. keep_signal.sql has the same number. */
export const keptMs = 96 * 60 * 60 * 1_000;

type Start = Omit<StartCall, "runId"> & Partial<Pick<StartCall, "runId">>;
type SignalFields = Pick<SignalCall, "signalId" | "name" | "encodedPayload" | "dedupeId">;
/** A start, a signal, or a signal that starts its run: it has the fields of both. The id of a run may be left out. */
export type DeedCall =
  | Start
  | (Start & SignalFields)
  | (SignalFields & { readonly workflow: string } & ({ readonly id: string } | { readonly runId: string }));

export interface DeliveryKey {
  readonly webhook: string;
  readonly delivery: string;
}
export interface DeliveryCall extends DeliveryKey {
  /** Tells a body that comes again under another id, for `bodyWindowMs`. */
  readonly bodyMac?: string;
  /** The same by the root secrets that are being replaced. */
  readonly olderBodyMacs?: readonly string[];
  readonly bodyWindowMs?: number;
  /** As JSON. Left out: as the delivery came before. */
  readonly headers?: string;
  readonly event?: string;
  readonly deeds: readonly DeedCall[];
  /** Why nothing is carried out. */
  readonly refused?: string;
  readonly failed?: string;
  readonly replay?: { readonly by?: string; readonly reason?: string };
}

/** What a deed did. Null: it is not told, since nothing was carried out. */
export interface WireDeed {
  readonly runId: string | null;
  /** What became of its start. */
  /** `deleted`: this delivery had started it, and somebody has deleted it since. Then its signal is not sent. */
  readonly outcome?: "started" | "exists" | "deleted";
  /** What became of its signal. `kept`: its run is not there yet. */
  readonly signal?: "sent" | "duplicate" | "kept";
}
interface StartedTurn {
  readonly runId: string;
  readonly turn: number;
  readonly readyAt?: number | null;
}
export type DeliveryAnswer =
  | {
      readonly outcome: "done" | "refused" | "failed";
      readonly delivery: string;
      readonly reason: string | null;
      readonly deeds: readonly WireDeed[];
      readonly turns: readonly StartedTurn[];
      readonly now: number;
    }
  | {
      readonly outcome: "duplicate";
      readonly delivery: string;
      readonly deeds: readonly WireDeed[];
      /** Turns of its runs that are ready still: the answer that told of them may have been lost. */
      readonly turns: readonly StartedTurn[];
      readonly now: number;
    };

export interface WireDelivery {
  readonly webhook: string;
  readonly id: string;
  readonly outcome: "done" | "refused" | "failed" | "expired";
  readonly reason: string | null;
  readonly deeds: readonly WireDeed[];
  readonly attempts: number;
  readonly receivedAt: number;
  readonly decidedAt: number;
  readonly replays: readonly { readonly by?: string; readonly reason?: string; readonly at: number }[];
  /** How many of its signals wait for their run. */
  readonly waiting: number;
  readonly headers?: Readonly<Record<string, string>> | null;
  readonly event?: unknown;
}
export interface ListDeliveriesCall {
  readonly webhook?: string;
  /** Whether those are listed that were not carried out. */
  readonly isOpen?: true;
  readonly limit: number;
  readonly before?: { readonly webhook: string; readonly id: string; readonly receivedAt: number };
}
export interface ListDeliveriesAnswer {
  readonly deliveries: readonly WireDelivery[];
}

/** What became of kept signals. `left`: deliveries whose signals no run took. */
export interface KeptAnswer {
  readonly now: number;
  readonly turns: readonly { readonly runId: string; readonly turn: number }[];
  readonly left: readonly (DeliveryKey & { readonly outcome: "refused" | "expired"; readonly reason: string })[];
  readonly isMore: boolean;
  /** Whether all that is left is locked by others. Left out by functions of an earlier release. */
  readonly isLocked?: boolean;
}
