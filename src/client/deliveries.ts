/** What people see of the deliveries of senders to webhooks. */
import { LayoverError } from "../core/errors.ts";
import type { ListDeliveriesAnswer, ListDeliveriesCall, WireDeed, WireDelivery } from "../postgres/wire-webhooks.ts";
import { checkLimit } from "./page-limit.ts";

export interface DeliveryView {
  readonly webhook: string;
  /** The sender's id, or one of layover's. */
  readonly id: string;
  /**
   * `done`; `waiting`: it is done, but for signals whose run is not there yet; `refused`: it was not carried out, and is
   * tried again if it comes again; `failed`: the code threw; `expired`: no run took what was kept for it.
   */
  readonly outcome: "done" | "waiting" | "refused" | "failed" | "expired";
  readonly reason?: string;
  /** What each start and signal did. */
  readonly deeds: readonly WireDeed[];
  readonly attempts: number;
  readonly receivedAt: Date;
  readonly decidedAt: Date;
  readonly replays: readonly { readonly by?: string; readonly reason?: string; readonly at: Date }[];
  /** What was delivered, and with which headers. Missing in lists, and after a week. */
  readonly event?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface DeliveryPage {
  /** Newest first. */
  readonly deliveries: readonly DeliveryView[];
  /** Cursor of the next page. Missing: this page is the last one. */
  readonly cursor?: string;
}

export interface DeliveryListOptions {
  readonly webhook?: string | undefined;
  /** Whether only those are listed that were not carried out. */
  readonly isOpen?: boolean | undefined;
  /** Up to 200. Default: 50. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

const mostDeliveries = 200;

/** Asks for one delivery more than the page holds. @throws LayoverError `invalid_request`, `invalid_cursor` */
export function pageCall({ webhook, isOpen = false, limit = 50, cursor }: DeliveryListOptions): ListDeliveriesCall {
  return {
    limit: checkLimit(limit, mostDeliveries) + 1,
    ...(webhook !== undefined && { webhook }),
    ...(isOpen && { isOpen }),
    ...(cursor !== undefined && { before: placeOf(cursor) }),
  };
}

export function pageOfDeliveries(call: ListDeliveriesCall, { deliveries }: ListDeliveriesAnswer): DeliveryPage {
  const page = deliveries.slice(0, call.limit - 1);
  const last = deliveries.length === call.limit ? page.at(-1) : undefined;
  return { deliveries: page.map(deliveryView), ...(last !== undefined && { cursor: cursorOf(last) }) };
}

export function deliveryView({ outcome, reason, waiting, headers, event, ...wire }: WireDelivery): DeliveryView {
  return {
    ...wire,
    outcome: outcome === "done" && waiting > 0 ? "waiting" : outcome,
    ...(reason !== null && { reason }),
    receivedAt: new Date(wire.receivedAt),
    decidedAt: new Date(wire.decidedAt),
    replays: wire.replays.map(({ at, ...replay }) => ({ ...replay, at: new Date(at) })),
    ...(headers !== undefined && headers !== null && { headers, event }),
  };
}

type PlaceOfDelivery = NonNullable<ListDeliveriesCall["before"]>;

function cursorOf({ webhook, id, receivedAt }: PlaceOfDelivery): string {
  return `1.${receivedAt}.${webhook}.${id}`;
}

function placeOf(cursor: string): PlaceOfDelivery {
  const [, receivedAt, webhook, id] = /^1\.(\d{1,15})\.([\w-]+)\.(.+)$/.exec(cursor) ?? [];
  if (webhook !== undefined && id !== undefined) return { webhook, id, receivedAt: Number(receivedAt) };
  throw new LayoverError("invalid_cursor", "the cursor is not one that a page answered", {
    hint: "Give the `cursor` of the page before as it is, or none for the first page.",
    details: { field: "cursor" },
  });
}
