/**
 * The leases of an invocation. They are renewed at half-time while bodies run, and when a turn begins that was claimed
 * alone.
 *
 * A renewal waits for nothing that somebody has locked: a user's open transaction that has signalled one run may hold that
 * for an hour. Such a lease is late. It alone is renewed again each second or two, and all others are renewed in time.
 */
import type { HostClock } from "../../core/ports.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { RenewTurn } from "../../postgres/wire.ts";
import type { Gate } from "./gate.ts";
import { Lease } from "./lease.ts";

export interface LeasesOptions {
  readonly calls: Calls;
  readonly host: HostClock;
  readonly leaseMs: number;
  /**
   * The gate that is closed while a renewal fails. After an outage the renewals go first: before them, nobody may claim
   * leases that only seem abandoned.
   */
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
  #cancelLateTimer = () => {};
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

  /** Keeps the lease of `turn` until it is released. `number`: the turn's number. */
  hold(turn: RenewTurn, number: number): Lease {
    const lease = new Lease(turn, number, this.#renewNow);
    this.#held.add(lease);
    this.#cancelTimer ??= this.#host.after(this.#leaseMs / 2, () => void this.#renew());
    return lease;
  }

  /**
   * Records that a turn which was claimed alone is about to begin, since it may kill the process. The claim alone proves
   * nothing: its answer may have been lost. Answers false if somebody else has claimed the turn meanwhile.
   */
  async begin(lease: Lease, beginnings: number): Promise<boolean> {
    try {
      const begun = await this.#calls.renewLeases({ leaseMs: this.#leaseMs, turns: [{ ...lease.turn, beginnings }] });
      return begun.turns[0]?.outcome === "renewed";
    } catch (error) {
      this.#onError(error, "beginning a turn that goes alone");
      return !lease.isLost; // the call may have counted the turn, and a turn that was counted must begin
    }
  }

  /**
   * Writes down that an attempt is about to begin, of a step that runs at most once. Answers false if somebody else has the
   * turn. Throws if the database did not answer: then the attempt must not begin, and may have been written down.
   */
  async writeBeginning(lease: Lease, begins: string): Promise<boolean> {
    const answer = await this.#renewOne(lease, { ...lease.turn, begins });
    return answer !== undefined && !lease.isLost;
  }

  /**
   * Reads the timeout of a lease's run, by a renewal. Null: the run is paused. Undefined: somebody else has the turn, or the
   * database's functions are of an earlier release.
   */
  async readTimeout(lease: Lease): Promise<number | null | undefined> {
    return (await this.#renewOne(lease, lease.renewal))?.timeoutAt;
  }

  /**
   * Tells whether this process still has the lease. `askedAt`: when it first sent the call that took the lease, by the host's
   * monotonic clock. Such a call may be answered minutes later, when the lease is over and another process has the turn. So if
   * it took longer than half a lease, the database is asked, by a renewal. Throws if that does not answer.
   */
  async stands(lease: Lease, askedAt: number): Promise<boolean> {
    if (this.#host.monotonic() - askedAt < this.#leaseMs / 2) return true;
    return (await this.#renewOne(lease, lease.renewal)) !== undefined;
  }

  /** Undefined: somebody else has the turn. */
  async #renewOne(lease: Lease, turn: RenewTurn) {
    const { turns } = await this.#calls.renewLeases({ leaseMs: this.#leaseMs, turns: [turn] });
    const [answer] = turns;
    if (answer?.outcome !== "renewed") return undefined;
    if (answer.cancel != null) lease.noteCancel(answer.cancel.reason ?? undefined);
    return answer;
  }

  release(lease: Lease): void {
    this.#held.delete(lease);
    if (this.#held.size > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#cancelLateTimer();
    this.#succeed();
  }

  readonly #renewNow = async (): Promise<void> => {
    if (this.#held.size === 0) return;
    this.#cancelTimer?.();
    await this.#renew();
  };

  async #renew(): Promise<void> {
    this.#cancelTimer = this.#host.after(this.#leaseMs / 2, () => void this.#renew());
    await this.#renewSome([...this.#held], ({ renewal }) => renewal);
  }

  /** Renews these leases, but for those that somebody has locked. */
  async #renewSome(leases: readonly Lease[], renewalOf: (lease: Lease) => RenewTurn): Promise<void> {
    const sent = leases.map((lease) => ({ lease, turn: lease.turn }));
    try {
      const renewals = leases.map(renewalOf);
      const call = { leaseMs: this.#leaseMs, skipsLocked: true, turns: renewals } as const;
      const { turns } = await this.#calls.renewLeases(call);
      for (const [index, { lease, turn }] of sent.entries()) {
        const answer = turns[index];
        if (lease.turn !== turn) continue; // it goes on under a new token by now
        lease.noteLate(answer?.outcome === "locked");
        if (answer?.outcome === "superseded") this.#lose(lease);
        else if (answer?.outcome === "renewed" && answer.cancel != null)
          lease.noteCancel(answer.cancel.reason ?? undefined);
      }
      this.#succeed();
      this.#renewLateSoon();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Renews the late leases soon. They say nothing of their runs, so that a branch whose run is locked is late no longer. */
  #renewLateSoon(): void {
    const late = () => [...this.#held].filter(({ isLate }) => isLate);
    this.#cancelLateTimer();
    if (late().length === 0) return;
    this.#cancelLateTimer = this.#host.after(shortestPauseMs * (1 + this.#random()), () => {
      if (late().length > 0) void this.#renewSome(late(), ({ turn }) => turn);
    });
  }

  /**
   * Marks the lease as lost. If its finish was sent, the database may have taken that before the renewal. Then the
   * finish's answer tells whether the lease was lost.
   */
  #lose(lease: Lease): void {
    lease.lose();
    if (!lease.isFinishSent && !lease.isGivenBack) this.#onLost(lease);
  }

  #succeed(): void {
    this.#failures = 0;
    this.#gate.open(this);
  }

  /** Tries again soon. A lease counts until somebody else claims the turn, even after its end. */
  #fail(error: unknown): void {
    if (this.#held.size === 0) return;
    if (this.#failures === 0) this.#onError(error, "renewing leases");
    const growing = Math.min(shortestPauseMs * 2 ** this.#failures, longestPauseMs - shortestPauseMs);
    const soonMs = Math.min(shortestPauseMs + this.#random() * growing, this.#leaseMs / 2);
    this.#failures += 1;
    this.#gate.close(this);
    this.#cancelLateTimer();
    this.#cancelTimer?.();
    this.#cancelTimer = this.#host.after(soonMs, () => void this.#renew());
  }
}
