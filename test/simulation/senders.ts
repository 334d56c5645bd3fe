/**
 * Senders, who deliver signals to a webhook. They know a run by its user's id, and deliver whether it is there or not. So a signal may be
 * kept for its run, and no sender learns what becomes of it.
 */
import type { Deed } from "../../src/http/webhooks/deeds.ts";
import { deliver } from "../delivering.ts";
import type { Patience } from "./patience.ts";
import type { ProgramContract, SignalName } from "./programs/contract.ts";
import { userIdOf } from "./run-ids.ts";
import type { Letter } from "./scenario.ts";

/** The webhook to which they deliver. */
export const webhook = "letters";

export interface Delivered {
  /** Id of the delivery. */
  readonly id: string;
  readonly runId: string;
  readonly name: SignalName;
  readonly payload: number;
  /** Whether its sender was told that it is done. */
  isTold: boolean;
}

const longestUntilAgainMs = 300_000;

export class Senders {
  readonly #patience: Patience;
  readonly #delivered: Delivered[] = [];

  constructor(patience: Patience) {
    this.#patience = patience;
  }

  get delivered(): readonly Delivered[] {
    return this.#delivered;
  }

  /** Delivers the letter at its time. A sender may do so twice at once, and again later: it never knows what arrived. */
  deliver(contract: ProgramContract, runId: string, { name, payload, atMs, isTwice, insists }: Letter): void {
    const delivered: Delivered = { id: `${name} ${payload} to ${runId}`, runId, name, payload, isTold: false };
    this.#delivered.push(delivered);
    const signal = { name, payload, dedupeId: undefined };
    const deed: Deed = { kind: "signal", contract, run: { id: userIdOf(runId) }, signal };
    const send = async (afterMs: number) => {
      await this.#patience.pause(atMs + afterMs, `delivers ${delivered.id}`);
      const sent = await this.#patience.insist(
        (client) => client.within((context) => deliver(context, { webhook, delivery: delivered.id }, [deed])),
        { insists },
      );
      if ("answer" in sent && (sent.answer.outcome === "done" || sent.answer.outcome === "duplicate"))
        delivered.isTold = true;
    };
    for (const afterMs of isTwice ? [0, 0, this.#patience.chance.below(longestUntilAgainMs)] : [0])
      this.#patience.act(() => send(afterMs));
  }
}
