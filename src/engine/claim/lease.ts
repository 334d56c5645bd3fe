/** One lease of a turn: whether it stands, and who is told when it is lost or its run is to end. */
import type { Contract } from "../../core/contract/contract.ts";
import type { TurnRef } from "../../core/ports.ts";
import type { RenewTurn } from "../../postgres/wire.ts";
import type { TurnTrace } from "../telemetry.ts";

interface RunAtWork {
  readonly workflow: { readonly contract: Pick<Contract, "name" | "version"> };
  /** The last thing that the run has said of itself, unless a finish has told it already. */
  readonly lastSaying: string | undefined;
}

/** One lease. Cheap to hold: most bodies end long before it does. */
export class Lease {
  /** Watches the turn. Undefined: nothing does. */
  trace: TurnTrace | undefined;
  /** Renews it now, with all others of its invocation. Never rejects. */
  readonly renewNow: () => Promise<void>;
  #turn: RenewTurn;
  #number: number;
  #run: RunAtWork | undefined;
  #contract: Pick<Contract, "name" | "version"> | undefined;
  #isLost = false;
  #isFinishSent = false;
  #isGivenBack = false;
  #isLate = false;
  #isLossTold = false;
  #cancel: { readonly reason: string | undefined } | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #cancelListeners = new Set<(reason: string | undefined) => void>();

  constructor(turn: RenewTurn, number: number, renewNow: () => Promise<void>) {
    this.#turn = turn;
    this.#number = number;
    this.renewNow = renewNow;
  }

  /** The turn and its token. */
  get turn(): RenewTurn {
    return this.#turn;
  }

  /** Whether it is the lease of this turn, and not of another one of the same run. */
  isOf({ runId, turn, branch }: TurnRef): boolean {
    const { path, occurrence } = this.#turn;
    return (
      this.#turn.runId === runId && this.#number === turn && path === branch?.path && occurrence === branch?.occurrence
    );
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

  /** Whether somebody has locked its row, so that it cannot be renewed. It may be over, though its turn is at work here. */
  get isLate(): boolean {
    return this.#isLate && !this.#isLost;
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

  noteLate(isLate: boolean): void {
    this.#isLate = isLate;
  }

  noteLossTold(): void {
    this.#isLossTold = true;
  }

  /**
   * Goes on with the next turn of the same run, which has a token of its own. A renewal may have found the old token
   * gone, since the finish that has claimed the next turn was taken and its answer was lost. The new token is not lost.
   */
  goOn(turn: RenewTurn, number: number): void {
    this.#turn = turn;
    this.#number = number;
    this.trace = undefined; // that of the turn before has ended
    this.#isFinishSent = false;
    this.#isLate = false;
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
