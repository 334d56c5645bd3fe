/** Signals that deliveries of webhooks have kept for runs that were not there: a tick sends those whose runs are there now. */
import type { DueAnswer } from "../../postgres/wire-scheduler.ts";
import type { EngineContext } from "../engine-context.ts";
import type { Mover } from "./mover.ts";
import type { TimeLimit } from "./time-limit.ts";

const mostAtOnce = 500;

/** Sends what the page tells of. What stays is looked at when it expires. */
export async function sendKept(
  { tell, options }: EngineContext,
  limit: TimeLimit,
  { page: { kept }, mover }: { readonly page: DueAnswer; readonly mover: Mover },
): Promise<void> {
  const { calls } = options;
  if (kept === null || kept === undefined) return;
  const { expiresAt } = kept;
  if (expiresAt !== null) await limit.wait(() => calls.alarms.arm([expiresAt]));
  for (let isMore = true; isMore; ) {
    const answer = await limit.wait(() => calls.sendKeptSignals({ limit: mostAtOnce }));
    isMore = answer.isMore;
    for (const left of answer.left) tell({ kind: "delivery_refused", ...left });
    await mover.dispatch(answer.turns.map((ref) => ({ ref, delayMs: 0 })));
    limit.extend();
  }
}
