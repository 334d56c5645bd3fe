/** Renews, at half-time, the leases of an invocation whose bodies take their time. */
import type { Calls } from "../postgres/calls.ts";
import type { HostClock } from "../postgres/clock.ts";
import type { RenewTurn } from "../postgres/wire.ts";

export class Leases {
  readonly #calls: Calls;
  readonly #host: HostClock;
  readonly #leaseMs: number;
  readonly #onError: (error: unknown) => void;
  readonly #held = new Map<RenewTurn, AbortController>();
  #cancelTimer: (() => void) | undefined;

  constructor(options: { calls: Calls; host: HostClock; leaseMs: number; onError: (error: unknown) => void }) {
    this.#calls = options.calls;
    this.#host = options.host;
    this.#leaseMs = options.leaseMs;
    this.#onError = options.onError;
  }

  /** Keeps the lease of `turn` until it is released; the signal fires if it is lost before. */
  hold(turn: RenewTurn): { readonly lost: AbortSignal; release(): void } {
    const controller = new AbortController();
    this.#held.set(turn, controller);
    this.#cancelTimer ??= this.#host.after(this.#leaseMs / 2, () => void this.#renew());
    const release = () => {
      this.#held.delete(turn);
      if (this.#held.size > 0) return;
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
    };
    return { lost: controller.signal, release };
  }

  async #renew(): Promise<void> {
    const held = [...this.#held];
    this.#cancelTimer = this.#host.after(this.#leaseMs / 2, () => void this.#renew());
    try {
      const { turns } = await this.#calls.renewLeases({ leaseMs: this.#leaseMs, turns: held.map(([turn]) => turn) });
      for (const [index, [, controller]] of held.entries()) {
        if (turns[index]?.outcome !== "renewed") controller.abort();
      }
    } catch (error) {
      this.#onError(error); // the next half-time tries again; until the lease is over nothing is lost
    }
  }
}
