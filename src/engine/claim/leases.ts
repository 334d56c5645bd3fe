/**
 * The leases of an invocation. They are renewed at half-time while bodies run, and when a turn begins that was claimed
 * alone.
 */
import type { Contract } from "../../core/contract/contract.ts";
import type { HostClock } from "../../core/ports.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { RenewTurn } from "../../postgres/wire.ts";
import type { TurnTrace } from "../telemetry.ts";
import type { Gate } from "./gate.ts";

interface RunAtWork {
  readonly workflow: { readonly contract: Pick<Contract, "name" | "version"> };
  /** What it said last of itself, and no finish has told. */
  readonly lastSaying: string | undefined;
}

/** One lease. Cheap to hold: most bodies end long before it does. */
export class Lease {
  /** Watches the turn. Undefined: nothing does. */
  trace: TurnTrace | undefined;
  /** Renews it now, with all others of its invocation. Never rejects. */
  readonly renewNow: () => Promise<void>;
  #turn: RenewTurn;
  #run: RunAtWork | undefined;
  #contract: Pick<Contract, "name" | "version"> | undefined;
  #isLost = false;
  #isFinishSent = false;
  #isGivenBack = false;
  #isLossTold = false;
  #cancel: { readonly reason: string | undefined } | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #cancelListeners = new Set<(reason: string | undefined) => void>();

  constructor(turn: RenewTurn, renewNow: () => Promise<void>) {
    this.#turn = turn;
    this.renewNow = renewNow;
  }

  /** The turn and its token. */
  get turn(): RenewTurn {
    return this.#turn;
  }

  /** Whether somebody else may have the turn by now. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** The contract of its run, once that is known. */
  get contract(): Pick<Contract, "name" | "version"> | undefined {
    return this.#contract;
  }

  /** Whether its finish was sent. The database may have taken it, even if no answer came. */
  get isFinishSent(): boolean {
    return this.#isFinishSent;
  }

  /** Whether it was given back. Somebody else may have it, so nothing is sent for it any more. */
  get isGivenBack(): boolean {
    return this.#isGivenBack;
  }

  get isLossTold(): boolean {
    return this.#isLossTold;
  }

  /** Notes the run in memory that the turn is carried out with. */
  noteRun(run: RunAtWork): void {
    this.noteContract(run.workflow.contract);
    this.#run = run;
  }

  /** The renewal to send, with what the run says of itself. */
  get renewal(): RenewTurn {
    const says = this.#run?.lastSaying;
    return says === undefined ? this.#turn : { ...this.#turn, says };
  }

  noteContract(contract: Pick<Contract, "name" | "version">): void {
    this.#contract = contract;
  }

  noteFinishSent(): void {
    this.#isFinishSent = true;
  }

  noteLossTold(): void {
    this.#isLossTold = true;
  }

  /**
   * Goes on with the next turn of the same run, which has a token of its own. A renewal may have found the old token
   * gone, since the finish that has claimed the next turn was taken and its answer was lost. The new token is not lost.
   */
  goOn(turn: RenewTurn): void {
    this.#turn = turn;
    this.trace = undefined; // that of the turn before has ended
    this.#isFinishSent = false;
    this.#isLost = this.#isGivenBack;
    this.#cancel = undefined;
  }

  /** Ends the turn here, so that another process may have it at once. */
  giveBack(): void {
    this.#isGivenBack = true;
    this.lose();
  }

  /** Calls `listener` when the lease is lost, unless the function that it answers is called before. */
  whenLost(listener: () => void): () => void {
    if (this.#isLost) listener();
    else this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `listener` when its run is to be cancelled, unless the function that it answers is called before. */
  whenCancelled(listener: (reason: string | undefined) => void): () => void {
    if (this.#cancel !== undefined) listener(this.#cancel.reason);
    else this.#cancelListeners.add(listener);
    return () => this.#cancelListeners.delete(listener);
  }

  /** Notes that its run is to be cancelled. The turn goes on: what its body has done by now is recorded. */
  noteCancel(reason: string | undefined): void {
    if (this.#cancel !== undefined) return;
    this.#cancel = { reason };
    for (const listener of this.#cancelListeners) listener(reason);
  }

  lose(): void {
    this.#isLost = true;
    for (const listener of this.#listeners) listener();
  }
}

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
    const lease = new Lease(turn, this.#renewNow);
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
    this.#succeed();
  }

  readonly #renewNow = async (): Promise<void> => {
    if (this.#held.size === 0) return;
    this.#cancelTimer?.();
    await this.#renew();
  };

  async #renew(): Promise<void> {
    const held = [...this.#held].map((lease) => ({ lease, turn: lease.turn }));
    this.#cancelTimer = this.#host.after(this.#leaseMs / 2, () => void this.#renew());
    try {
      const renewals = held.map(({ lease }) => lease.renewal);
      const { turns } = await this.#calls.renewLeases({ leaseMs: this.#leaseMs, turns: renewals });
      for (const [index, { lease, turn }] of held.entries()) {
        const answer = turns[index];
        if (lease.turn !== turn) continue; // it goes on under a new token by now
        if (answer?.outcome === "superseded") this.#lose(lease);
        else if (answer?.cancel != null) lease.noteCancel(answer.cancel.reason ?? undefined);
      }
      this.#succeed();
    } catch (error) {
      this.#fail(error);
    }
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
    this.#cancelTimer?.();
    this.#cancelTimer = this.#host.after(soonMs, () => void this.#renew());
  }
}
