/** Hands a verified delivery to the database, with all that it makes layover do, in one statement. */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { v7 } from "uuid";
import type { ClientContext } from "../../client/over-postgres/client-context.ts";
import { translated } from "../../client/over-postgres/failure.ts";
import { signalFields } from "../../client/over-postgres/signals.ts";
import { knownRunId } from "../../client/run-id.ts";
import { type StartOptions, startCall } from "../../client/starting.ts";
import { LayoverError } from "../../core/errors.ts";
import { checkName } from "../../core/names.ts";
import type { Tell } from "../../engine/events.ts";
import type { DeedCall, DeliveryAnswer, DeliveryCall } from "../../postgres/wire-webhooks.ts";
import { failedBy } from "./decide.ts";
import type { Deed } from "./deeds.ts";

/** A delivery by the names under which the database knows it. */
export type DeliveryId = Pick<DeliveryCall, "webhook" | "delivery" | "bodyMac" | "olderBodyMacs" | "bodyWindowMs">;

/** What is kept of a delivery besides its deeds. */
export type Kept = Pick<DeliveryCall, "headers" | "event" | "replay">;

/** What becomes of a delivery: its deeds as calls of SQL, or why there are none. */
export type Effect =
  | { readonly deeds: readonly DeedCall[] }
  | { readonly refused: string }
  | { readonly failed: string; readonly cause: unknown };

/** Makes the calls. It sends no SQL, so whatever it refuses is wrong with the values, and stays refused until the code is another. */
export async function effectOf(
  context: ClientContext,
  id: DeliveryId,
  deeds: readonly Deed[],
  traceparent?: string,
): Promise<Effect> {
  const calls: DeedCall[] = [];
  try {
    for (const [index, deed] of deeds.entries())
      calls.push(await callOf(context, deed, idOfDeed(id, index), traceparent));
    return { deeds: calls };
  } catch (error) {
    return error instanceof LayoverError ? { refused: error.message } : failedBy(error); // a schema of the contract threw
  }
}

/** What is sent of a delivery. It has deeds, or says why there are none. */
export type Performed = DeliveryId & Kept & Partial<Pick<DeliveryCall, "deeds" | "refused" | "failed">>;

/** Carries out all deeds, or none: then the answer says why, and the operator is told. */
export async function perform(context: ClientContext, given: Performed, tell: Tell): Promise<DeliveryAnswer> {
  const { deeds = [], refused, failed, ...rest } = given;
  const why = {
    ...(refused !== undefined && { refused: storable(refused) }),
    ...(failed !== undefined && { failed: storable(failed) }),
  };
  const answer = await translated(() => context.calls.receiveDelivery({ ...rest, ...why, deeds }));
  for (const { runId, turn, readyAt } of answer.turns)
    await context.dispatchSoon(runId, turn, (readyAt ?? answer.now) - answer.now);
  const { outcome, delivery } = answer;
  if (outcome === "refused" || outcome === "failed")
    tell({ kind: "delivery_refused", webhook: given.webhook, delivery, outcome, reason: answer.reason ?? "" });
  return answer;
}

async function callOf(
  context: ClientContext,
  deed: Deed,
  ownId: string,
  header: string | undefined,
): Promise<DeedCall> {
  if (deed.kind === "signal") {
    const key = "id" in deed.run ? { id: checkName(deed.run.id, "id") } : { runId: knownRunId(deed.run.runId) };
    return { ...key, ...(await signalOf(context, deed, ownId)) };
  }
  const { contract, input } = deed;
  const options: StartOptions = { traceparent: header ?? context.traceparent(), ...deed.options };
  const terms = { maxBytes: context.limits.valueBytes, now: async () => context.host.now() };
  const { runId, ...start } = await startCall(contract, input, { ...options, id: options.id ?? ownId }, terms);
  // The host's clock may be wrong, so the database makes the id of the run.
  const call = { ...start, ...(options.runId !== undefined && { runId }) };
  return deed.signal === undefined ? call : { ...call, ...(await signalOf(context, deed, ownId)) };
}

async function signalOf(context: ClientContext, { contract, signal }: Deed, ownId: string) {
  const { name = "", payload, dedupeId = ownId } = signal ?? {};
  return await signalFields(context, { contract, name, payload, dedupeId });
}

/**
 * Makes the id of what has none of its own. If the sender sends the delivery again when its row is long gone, the run or
 * the signal is still known by it.
 */
function idOfDeed({ webhook, delivery }: DeliveryId, index: number): string {
  return `${webhook}:${delivery}:${index}`;
}

/** The longest id of a sender that is kept as it is. */
const longestId = 100;

/** Makes an id that can be stored, and shown in a line, of any text that a sender sends. */
export function storableId(text: string): string {
  return /^[\x21-\x7e]+$/.test(text) && text.length <= longestId
    ? text
    : `sha256:${bytesToHex(sha256(utf8ToBytes(text)))}`;
}

/** Makes an id for a delivery whose sender has none. Such a delivery is known by its body. */
export function newDeliveryId(): string {
  return v7();
}

const longestReason = 2_000;

/** Makes a reason that can be stored of any text, such as a message with a piece of the event in it. Postgres stores no NUL. */
function storable(reason: string): string {
  return reason.slice(0, longestReason).toWellFormed().replaceAll("\u0000", "\u2400");
}
