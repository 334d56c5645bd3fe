/**
 * Limits how many requests of one kind are answered at once. The others wait, until their client goes away. Without the
 * limit, one API key could keep every connection of the pool busy with long lists.
 */
import { pause } from "../core/waits.ts";
import type { Room } from "./room.ts";

/** How long a request has its place at most. */
const placeMs = 60_000;

/**
 * How long a request waits before it looks for a place again. Nobody tells it of one: on Cloudflare, a promise that another
 * request resolves is no good.
 */
const againMs = 25;

/** Does the work when there is a place. Rejects with the signal's reason if that aborts before the work begins. */
export async function inLane<Result>(
  lane: Room,
  work: () => Promise<Result>,
  abortSignal: AbortSignal,
): Promise<Result> {
  abortSignal.throwIfAborted();
  const place = {};
  while (!lane.take(place, 1, placeMs)) await pause(lane.host, againMs, abortSignal);
  try {
    return await work();
  } finally {
    lane.leave(place);
  }
}
