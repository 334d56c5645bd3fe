/** Signals that deliveries of webhooks have kept for runs that were not there: a tick sends those whose runs are there now. */
import type { DueAnswer } from "../../postgres/wire-scheduler.ts";
import type { EngineContext } from "../engine-context.ts";
import type { Mover } from "./mover.ts";
import type { TimeLimit } from "./time-limit.ts";

const mostAtOnce = 500;

export interface KeptTerms {
  readonly context: EngineContext;
  readonly limit: TimeLimit;
  readonly mover: Mover;
}

export class KeptSignals {
  readonly #terms: KeptTerms;
  #isAnyLocked = false;

  constructor(terms: KeptTerms) {
    this.#terms = terms;
  }

  /** Sends what the page tells of, but for what others have locked. What stays is looked at when it expires. */
  async send({ kept }: Pick<DueAnswer, "kept">): Promise<void> {
    if (kept === null || kept === undefined) return;
    const { context, limit } = this.#terms;
    const { expiresAt } = kept;
    if (expiresAt !== null) await limit.wait(() => context.options.calls.alarms.arm([expiresAt]));
    if (await this.#send({ waits: false })) this.#isAnyLocked = true;
  }

  /** Waits for what others had locked: they may never commit. */
  async sendLocked(): Promise<void> {
    if (this.#isAnyLocked) await this.#send({ waits: true });
  }

  /** Answers whether some are left that others have locked. */
  async #send({ waits }: { readonly waits: boolean }): Promise<boolean> {
    const { context, limit, mover } = this.#terms;
    for (;;) {
      const answer = await limit.wait(() => context.options.calls.sendKeptSignals({ limit: mostAtOnce, waits }));
      for (const left of answer.left) context.tell({ kind: "delivery_refused", ...left });
      await mover.dispatch(answer.turns.map((ref) => ({ ref, delayMs: 0 })));
      limit.extend();
      if (!answer.isMore) return answer.isLocked === true;
    }
  }
}
