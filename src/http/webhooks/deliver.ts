/** Hands a verified delivery to the database, with all that it makes layover do, in one statement. */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { v7 } from "uuid";
import type { ClientContext } from "../../client/over-postgres/client-context.ts";
import { translated } from "../../client/over-postgres/failure.ts";
import { signalFields } from "../../client/over-postgres/signals.ts";
import { knownRunId } from "../../client/run-id.ts";
import { startCall } from "../../client/starting.ts";
import { LayoverError } from "../../core/errors.ts";
import { checkName } from "../../core/names.ts";
import type { DeedCall, DeliveryAnswer, DeliveryCall } from "../../postgres/wire-webhooks.ts";
import type { Deed } from "./deeds.ts";

/** A delivery by the names under which the database knows it. */
export type DeliveryId = Pick<DeliveryCall, "webhook" | "delivery" | "bodyMac" | "bodyWindowMs">;

/** What is kept of a delivery besides its deeds. */
export type Kept = Pick<DeliveryCall, "headers" | "event" | "replay">;

/** Carries out all deeds, or none: then the answer says why. */
export async function deliver(
  context: ClientContext,
  id: DeliveryId,
  deeds: readonly Deed[],
  kept: Kept,
): Promise<DeliveryAnswer> {
  const calls: DeedCall[] = [];
  try {
    for (const [index, deed] of deeds.entries()) calls.push(await callOf(context, deed, idOfDeed(id, index)));
  } catch (error) {
    // What the contract refuses stays refused until the code is another.
    if (error instanceof LayoverError) return await note(context, id, { ...kept, refused: error.message });
    throw error;
  }
  const answer = await translated(() => context.calls.receiveDelivery({ ...id, ...kept, deeds: calls }));
  if (answer.outcome === "duplicate") return answer;
  for (const { runId, turn, readyAt } of answer.turns)
    await context.dispatchSoon(runId, turn, (readyAt ?? answer.now) - answer.now);
  return answer;
}

/** Notes a delivery that nothing is carried out of. */
export async function note(
  context: ClientContext,
  id: DeliveryId,
  why: Kept & ({ readonly refused: string } | { readonly failed: string }),
): Promise<DeliveryAnswer> {
  return await translated(() => context.calls.receiveDelivery({ ...id, ...why, deeds: [] }));
}

async function callOf(context: ClientContext, deed: Deed, ownId: string): Promise<DeedCall> {
  if (deed.kind === "signal") {
    const key = "id" in deed.run ? { id: checkName(deed.run.id, "id") } : { runId: knownRunId(deed.run.runId) };
    return { ...key, ...(await signalOf(context, deed, ownId)) };
  }
  const { contract, input, options } = deed;
  const terms = { maxBytes: context.limits.valueBytes, now: () => context.nowForNewRun() };
  const start = await startCall(contract, input, { ...options, id: options.id ?? ownId }, terms);
  return deed.signal === undefined ? start : { ...start, ...(await signalOf(context, deed, ownId)) };
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
