/** Claims a set of turns. If the answer is too large for one piece, it claims the two halves by themselves. */
import type { Calls } from "../../postgres/calls.ts";
import type { ClaimAnswer, ClaimCall, ClaimTurn } from "../../postgres/wire.ts";
import { isTooLarge } from "./too-large.ts";

/**
 * The halves may contain turns that the whole call has claimed already. They are claimed again by the same tokens,
 * which changes nothing.
 *
 * @throws what the database refused the first half for. A refusal of the second half is only reported, since the first
 *   half is claimed then
 */
export async function claimInParts(
  calls: Calls,
  terms: Omit<ClaimCall, "turns">,
  turns: readonly ClaimTurn[],
  report: (error: unknown, doing: string) => void,
): Promise<ClaimAnswer> {
  try {
    return await calls.claimTurns({ ...terms, turns });
  } catch (error) {
    if (turns.length === 1 || !isTooLarge(error)) throw error;
    const middle = Math.ceil(turns.length / 2);
    const first = await claimInParts(calls, terms, turns.slice(0, middle), report);
    try {
      const { now, turns: rest } = await claimInParts(calls, terms, turns.slice(middle), report);
      return { now, turns: [...first.turns, ...rest] };
    } catch (error) {
      report(error, "claiming turns");
      return first;
    }
  }
}
