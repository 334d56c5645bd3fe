/** The calls of a turn, from its claim to its finish. One method for each SQL function. */

import type * as wire from "../wire.ts";
import type { CallSender } from "./call-sender.ts";

export type TurnCalls = ReturnType<typeof turnCalls>;

export function turnCalls(sender: CallSender) {
  return {
    claimTurns(call: wire.ClaimCall): Promise<wire.ClaimAnswer> {
      return sender.call("claim_turns", call);
    },

    /** Reads further records of a claimed run, whose claim answered only the first ones. */
    readPage(call: wire.PageCall): Promise<wire.PageAnswer> {
      return sender.call("read_page", call);
    },

    /** Reads how runs have ended that a claimed run has invoked, and whose ends it did not take. */
    readEnds(call: wire.EndsCall): Promise<wire.EndsAnswer> {
      return sender.call("read_ends", call);
    },

    /** `wakeInstants`: instants for which the scheduler may have to look at one of these runs. */
    finishTurns(
      turns: readonly (Omit<wire.FinishRun, "armed"> | Omit<wire.FinishBranch, "armed">)[],
      wakeInstants: readonly number[],
      claim?: Omit<wire.ClaimCall, "turns">,
    ): Promise<{ readonly now: number; readonly turns: readonly wire.FinishAnswer[] }> {
      return sender.armed(
        () => wakeInstants,
        ({ armed, notAfter }) =>
          sender.send(
            "finish_turns",
            { ...claim, notAfter, ...sender.rings(armed), turns: turns.map((turn) => ({ ...turn, armed })) },
            notAfter,
          ),
      );
    },

    /**
     * Finishes one turn within the transaction of its step, by `send`. It is never sent again. Raises LO013 unless this very
     * call finishes the turn.
     */
    finishOnce(
      turn: Omit<wire.FinishRun, "armed"> | Omit<wire.FinishBranch, "armed">,
      send: Parameters<CallSender["once"]>[2],
    ): Promise<Extract<wire.FinishAnswer, { readonly outcome: "finished" | "deferred" }>> {
      return sender.once("finish_once", (armed) => ({ turn: { ...turn, armed } }), send);
    },

    /** `skipsLocked`: it does not wait for what somebody has locked, and answers `locked` for it. */
    renewLeases(call: {
      readonly leaseMs: number;
      readonly turns: readonly wire.RenewTurn[];
      readonly skipsLocked?: true;
    }): Promise<{
      readonly now: number;
      readonly turns: readonly wire.RenewAnswer[];
    }> {
      return sender.call("renew_leases", call);
    },

    /**
     * Gives back leases when a process ends, so that others need not wait for their end. Only turns whose finish was
     * never sent may be given back.
     */
    returnLeases(turns: readonly wire.ReturnTurn[]): Promise<{
      readonly now: number;
      readonly turns: readonly wire.ReturnAnswer[];
    }> {
      return sender.call("return_leases", { turns });
    },

    voidLeases(): Promise<{ readonly outcome: "voided" }> {
      return sender.call("void_leases", {});
    },
  };
}
