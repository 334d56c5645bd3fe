/** The leases of an invocation: renewed at half-time, while bodies take theirs, and when what goes alone begins. */
import type { Contract } from "../core/contract.ts";
import type { Calls } from "../postgres/calls.ts";
import type { HostClock } from "../postgres/clock.ts";
import type { RenewTurn } from "../postgres/wire.ts";
import type { Gate } from "./gate.ts";

/** One lease. Cheap to hold: most bodies end long before it does. */
export class Lease {
  /** Who holds it; the next turn of the same run goes on with a token of its own. */
  turn: RenewTurn;
  isLost = false;
  /** The contract of its run, once that is known. */
  contract: Pick<Contract, "name" | "version"> | undefined;
  /** Its finish was sent, and may have been taken, whatever is known of that. */
  isFinishSent = false;
  /** Somebody else may have it: nothing is sent for it any more. */
  isGivenBack = false;
  /** Its loss was told. */
  isLossTold = false;
  readonly #listeners = new Set<() => void>();

  constructor(turn: RenewTurn) {
    this.turn = turn;
  }

  /** Calls `listener` when the lease is lost, unless the function that it answers is called before. */
  whenLost(listener: () => void): () => void {
    if (this.isLost) listener();
    else this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  lose(): void {
    this.isLost = true;
    for (const listener of this.#listeners) listener();
  }
}

export interface LeasesOptions {
  readonly calls: Calls;
  readonly host: HostClock;
  readonly leaseMs: number;
  /** Closed while a renewal is wanting: after an outage that goes first, before anybody claims what seems abandoned. */
  readonly gate: Gate;
  readonly random: () => number;
  readonly onError: (error: unknown, doing: string) => void;
  /** Is told of a lease that somebody else has, while its turn is still at work. */
  readonly onLost: (lease: Lease) => void;
}

const shortestPauseMs = 1_000;
const longestPauseMs = 5_000;

export class Leases {
  readonly #calls: Calls;
  readonly #host: HostClock;
  readonly #leaseMs: number;
  readonly #gate: Gate;
  readonly #random: () => number;
  readonly #onError: (error: unknown, doing: string) => void;
  readonly #onLost: (lease: Lease) => void;
  readonly #held = new Set<Lease>();
  #cancelTimer: (() => void) | undefined;
  /** How many renewals in a row have failed. */
  #failures = 0;

  constructor(options: LeasesOptions) {
    this.#calls = options.calls;
    this.#host = options.host;
    this.#leaseMs = options.leaseMs;
    this.#gate = options.gate;
    this.#random = options.random;
    this.#onError = options.onError;
    this.#onLost = options.onLost;
  }

  /** Keeps the lease of `turn` until it is released. */
  hold(turn: RenewTurn): Lease {
    const lease = new Lease(turn);
    this.#held.add(lease);
    this.#cancelTimer ??= this.#host.after(this.#leaseMs / 2, () => void this.#renew());
    return lease;
  }

  /**
   * Counts what goes alone, before anything is done for it: it may end its process. Its claim tells less, since the
   * answer may never have come. False: somebody else has claimed it meanwhile.
   */
  async begin(lease: Lease, beginnings: number): Promise<boolean> {
    try {
      const begun = await this.#calls.renewLeases({ leaseMs: this.#leaseMs, turns: [{ ...lease.turn, beginnings }] });
      return begun.turns[0]?.outcome === "renewed";
    } catch (error) {
      this.#onError(error, "beginning what goes alone");
      return !lease.isLost; // it may have been counted, and what was counted is to begin
    }
  }

  release(lease: Lease): void {
    this.#held.delete(lease);
    if (this.#held.size > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#succeed();
  }

  async #renew(): Promise<void> {
    const held = [...this.#held].map((lease) => ({ lease, turn: lease.turn }));
    this.#cancelTimer = this.#host.after(this.#leaseMs / 2, () => void this.#renew());
    try {
      const { turns } = await this.#calls.renewLeases({ leaseMs: this.#leaseMs, turns: held.map(({ turn }) => turn) });
      for (const [index, { lease, turn }] of held.entries()) {
        const isSuperseded = turns[index]?.outcome === "superseded";
        if (isSuperseded && lease.turn === turn) this.#lose(lease); // unless it goes on under a new token by now
      }
      this.#succeed();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** A finish that was sent may have been taken before the renewal. Then its answer tells whether the lease was lost. */
  #lose(lease: Lease): void {
    lease.lose();
    if (!lease.isFinishSent && !lease.isGivenBack) this.#onLost(lease);
  }

  #succeed(): void {
    this.#failures = 0;
    this.#gate.open(this);
  }

  /** Tries again soon. Until somebody else claims, the lease stands, also when it is over. */
  #fail(error: unknown): void {
    if (this.#held.size === 0) return;
    if (this.#failures === 0) this.#onError(error, "renewing leases");
    const growing = Math.min(shortestPauseMs * 2 ** this.#failures, longestPauseMs - shortestPauseMs);
    const soonMs = Math.min(shortestPauseMs + this.#random() * growing, this.#leaseMs / 2);
    this.#failures += 1;
    this.#gate.close(this);
    this.#cancelTimer?.();
    this.#cancelTimer = this.#host.after(soonMs, () => void this.#renew());
  }
}
