/**
 * What the turns of one invocation share: the terms of their claims, their leases and their finishes. It does what a turn
 * of a run and a turn of a branch have in common.
 */

import type { Contract } from "../core/contract/contract.ts";
import { signatureOf } from "../core/contract/signature.ts";
import { CancelledError } from "../core/contract/user-errors.ts";
import { LayoverError } from "../core/errors.ts";
import { defaultLimits } from "../core/limits.ts";
import type { HostClock, TransactionClient } from "../core/ports.ts";
import { attemptName, type Demand, placeName } from "../core/replay/demand.ts";
import { pause } from "../core/waits.ts";
import type { ClaimedBranch, ClaimedRun, ClaimTurn } from "../postgres/wire.ts";
import { Claims } from "./claim/claims.ts";
import type { Lease } from "./claim/lease.ts";
import { Leases } from "./claim/leases.ts";
import type { EngineContext } from "./engine-context.ts";
import type { TraceRef } from "./events.ts";
import { finishEvents, lossEvent } from "./finish/finish-events.ts";
import { Finishes } from "./finish/finishes.ts";
import { FollowUps } from "./finish/follow-ups.ts";
import type { Finish, RunFinish } from "./finish/lesser-finishes.ts";
import { defaults } from "./options.ts";
import { loadRun } from "./replay/load-run.ts";
import type { LoadedRun } from "./replay/loaded-run.ts";
import { replayHistory } from "./replay/replay-history.ts";
import { type AttemptResult, attemptStep, type Committed } from "./turn/attempt.ts";
import { failed, timedOut } from "./turn/ending.ts";
import { begunTurn, traced, turnOutcome } from "./turn-trace.ts";

export type Claimed = ClaimedRun | ClaimedBranch;

/** A claimed turn that is under way. */
export interface TurnAtWork<Answer extends Claimed> {
  readonly turn: ClaimTurn;
  readonly claimed: Answer;
  /** The loaded run at rest that its claim named. Undefined: none. */
  readonly held: LoadedRun | undefined;
  readonly lease: Lease;
}

/** Makes the finish that is committed with a transaction. `value`: its result. */
export type FinishOf = (value: string, beganAt: number) => Finish;

export class Invocation {
  readonly context: EngineContext;
  /** The deployment that a refusal names, where code and history do not fit. */
  readonly refuser: { readonly deployment?: string };
  readonly claims: Claims;
  readonly leases: Leases;
  readonly followUps: FollowUps;
  readonly #host: HostClock;
  readonly #finishes: Finishes;
  readonly #endsAt: number;

  constructor(context: EngineContext, turns: number) {
    const { options, gate, kept } = context;
    const { random = Math.random, resendMs = Number.POSITIVE_INFINITY } = options;
    const { calls, leaseMs = defaults.leaseMs, invocation } = options;
    this.context = context;
    this.#host = context.host;
    this.refuser = options.deployment === undefined ? {} : { deployment: options.deployment.id };
    this.claims = new Claims(context);
    const onError = context.report;
    this.followUps = new FollowUps(options, onError);
    const host = this.#host;
    const onLost = (lease: Lease) => this.tellLoss(lease);
    this.leases = new Leases({ calls, host, leaseMs, gate, random, onError, onLost });
    const endsAt = host.monotonic() + resendMs;
    this.#finishes = new Finishes({ calls, host, claim: this.claims.terms, turns, kept, endsAt, onError });
    this.#endsAt = this.#host.monotonic() + (invocation?.budgetMs ?? defaults.budgetMs);
  }

  /** Tells whether another step may begin after so many. */
  maySpend(steps: number): boolean {
    const { maxSteps = defaults.maxSteps } = this.context.options.invocation ?? {};
    return (
      steps < maxSteps && this.#host.monotonic() < this.#endsAt && !this.context.isClosing && this.context.gate.isOpen
    );
  }

  /** Tells whether a step may begin here. One that may have ended its process goes alone, and begins in any case. */
  hasTimeFor({ wanted }: Demand, { claims }: Claimed): boolean {
    return claims > 0 || wanted.kind !== "step" || this.context.options.hasTimeFor?.(wanted.timeoutMs) !== false;
  }

  /** Begins the handler. A run whose input its schema refuses fails at once. */
  async loadRun(turn: ClaimTurn, claimed: Claimed, lease: Lease): Promise<LoadedRun | undefined> {
    const { run } = claimed;
    const workflow = run == null ? undefined : this.context.registry.find(run.workflow, run.version);
    if (run == null || workflow === undefined)
      throw new Error("the database answered a claim that this deployment cannot carry out");
    lease.noteContract(workflow.contract);
    this.beginTrace(lease, turn, claimed, { workflow, origin: run });
    const { signature } = run;
    if (
      claimed.turn === 1 &&
      turn.path === undefined &&
      signature != null &&
      signature !== signatureOf(workflow.contract)
    )
      this.context.tell({ kind: "contract_differs", ...this.#about(turn.runId, workflow.contract, lease) });
    try {
      return await loadRun(this.context.options, this.context.registry, workflow, {
        runId: turn.runId,
        epoch: claimed.epoch,
        handedPosition: claimed.handedPosition,
        patches: claimed.patches ?? null,
        run,
        trace: lease.trace?.trace,
      });
    } catch (error) {
      if (!(error instanceof LayoverError)) throw error;
      if (!["invalid_input", "undecodable_value", "schedule_missing"].includes(error.code)) throw error;
      const ending =
        error.code === "invalid_input"
          ? failed(error)
          : { next: "blocked" as const, value: error.message, ...this.refuser };
      await this.#finishUnread(lease, turn, { position: claimed.position, ...ending });
      return undefined;
    }
  }

  /** Ends or blocks a run that cannot be carried out here, and dispatches whom that has made ready. */
  async #finishUnread(
    lease: Lease,
    { runId, token }: ClaimTurn,
    end: Omit<RunFinish, "runId" | "token">,
  ): Promise<void> {
    const answer = await this.finish(lease, { runId, token, ...end }, []);
    if (answer.outcome !== "finished" && answer.outcome !== "deferred") return;
    await this.followUps.others(answer);
    if (answer.isReady === true) await this.followUps.next(runId, answer);
  }

  /** Begins to watch a turn, unless it is watched already. */
  beginTrace(
    lease: Lease,
    turn: ClaimTurn,
    claimed: Claimed,
    { workflow, origin }: Pick<LoadedRun, "workflow" | "origin">,
  ): void {
    const { options } = this.context;
    lease.trace ??= options.telemetry?.beginTurn(begunTurn(options, turn, claimed, workflow.contract, origin));
  }

  /** Blocks a run that has mail which cannot be decrypted here. */
  async refuseMail(lease: Lease, turn: ClaimTurn, position: number, why: string): Promise<void> {
    const value = `mail of the run cannot be read: ${why}`;
    await this.#finishUnread(lease, turn, { position, next: "blocked", value, ...this.refuser });
  }

  /** Replays what was claimed. Answers false if the lease was lost meanwhile. */
  replay(loaded: LoadedRun, turn: ClaimTurn, claimed: Claimed): Promise<boolean> {
    const { calls, claimBytes: budgetBytes = defaults.claimBytes } = this.context.options;
    return replayHistory(loaded, { calls, claimed, turn, budgetBytes, patience: this.patience });
  }

  /** Waits as long as a handler may await something of its own. */
  readonly patience = (): Promise<void> => pause(this.#host, defaults.patienceMs);

  /** Makes one attempt of a step. */
  attempt(
    loaded: LoadedRun,
    demand: Demand,
    number: number,
    { beginnings, begun, timeoutAt }: Claimed,
    lease: Lease,
    finishOf: FinishOf,
  ): Promise<AttemptResult> {
    const { wanted } = demand;
    if (wanted.kind !== "step") throw new Error(`${placeName(demand)} is no step`);
    const { calls, random = Math.random, longestStepMs } = this.context.options;
    const { runId, epoch, execution, workflow } = loaded;
    // A step that cleans up is ended by its own timeout. While the run closes it also ends with the hour of all cleanups.
    const isTimed =
      timeoutAt != null && (execution.isClosing || (execution.closing === undefined && !demand.isShielded));
    const endOfRun = () =>
      execution.isClosing ? new CancelledError(execution.closing?.reason) : timedOut(workflow.contract.name);
    const isTransaction = wanted.isTransaction === true && calls.transact !== undefined;
    const place = placeName(demand);
    const name = attemptName(demand, number);
    const about = { step: place, attempt: number };
    const attempt = (trace: TraceRef | undefined) =>
      attemptStep({
        demand,
        body: wanted,
        number,
        isInterrupted: wanted.isAtMostOnce === true && (begun === name || number > wanted.retry.maxAttempts),
        isExhausted: beginnings >= defaults.maxBeginnings,
        // No store takes part in a transaction, so the database keeps its result.
        mostBytes: isTransaction ? defaultLimits.valueBytes : loaded.room.valueBytes,
        longestMs: longestStepMs ?? Number.POSITIVE_INFINITY,
        bodies: this.context.bodies,
        place: `${runId}/${epoch}/${place}`,
        runEnd: isTimed ? { at: timeoutAt, reason: endOfRun, ask: () => this.leases.readTimeout(lease) } : undefined,
        seed: (text) => loaded.keySeed(text),
        lease,
        host: this.#host,
        now: () => calls.clock.now(),
        random,
        writeBeginning: () => this.leases.writeBeginning(lease, name),
        transact: isTransaction
          ? (work, beganAt) =>
              this.#transact(lease, wanted.timeoutMs, async (client) => finishOf(await work(client), beganAt))
          : undefined,
        onEnd: loaded.beginBody({ ...about, trace: trace ?? lease.trace?.trace }),
      });
    return traced(lease.trace, about, attempt);
  }

  /**
   * Carries out a transaction, and finishes its turn in it. That finish goes neither with others nor again: if nobody knows
   * whether it was committed, the next claim of the turn sees.
   */
  async #transact(
    lease: Lease,
    limitMs: number,
    work: (client: TransactionClient) => Promise<Finish>,
  ): Promise<Committed> {
    const { calls } = this.context.options;
    if (calls.transact === undefined) throw new Error("the database has no transactions");
    const { finish, answer } = await calls.transact(limitMs, async (client, send) => {
      const finish = await work(client);
      lease.noteFinishSent();
      return { finish, answer: await calls.finishOnce(finish, send) };
    });
    this.#tellOf(lease, finish, answer);
    lease.trace?.end(turnOutcome(finish, answer));
    return answer;
  }

  /** Hands in a finish, unless its lease was given back: then another process may have the turn. */
  async finish(lease: Lease, finish: Finish, wakeInstants: readonly number[]): ReturnType<Finishes["send"]> {
    const answer = await this.#finish(lease, finish, wakeInstants);
    lease.trace?.end(turnOutcome(finish, answer));
    return answer;
  }

  #finish(lease: Lease, finish: Finish, wakeInstants: readonly number[]): ReturnType<Finishes["send"]> {
    if (lease.isGivenBack) return Promise.resolve({ outcome: "superseded" });
    lease.noteFinishSent();
    const send = () => this.#finishes.send(finish, wakeInstants, (taken, answer) => this.#tellOf(lease, taken, answer));
    const next = "claim" in finish ? finish.claim : undefined;
    if (next === undefined) return send();
    const { runId, token } = next;
    const isClaimed = (answer: Awaited<ReturnType<typeof send>>) =>
      answer.outcome === "finished" && answer.claim?.outcome === "claimed";
    return this.context.returns.bring(
      send,
      (answer) => (isClaimed(answer) ? [{ runId, token }] : []),
      (answer) => (isClaimed(answer) ? { outcome: "superseded" } : answer),
    );
  }

  #tellOf(lease: Lease, taken: Finish, answer: Awaited<ReturnType<Finishes["send"]>>): void {
    if (answer.outcome === "superseded" && !lease.isGivenBack) this.tellLoss(lease);
    const { contract } = lease;
    if (answer.outcome !== "finished" || contract === undefined) return;
    const about = this.#about(taken.runId, contract, lease);
    const isForOthers = answer.isReady === true; // for another deployment, not blocked
    for (const event of finishEvents(taken, about, answer))
      if (event.kind !== "run_blocked" || !isForOthers) this.context.tell(event);
  }

  /** Tells once that somebody else has claimed the turn. */
  tellLoss(lease: Lease): void {
    if (lease.isLossTold) return;
    lease.noteLossTold();
    this.context.tell(lossEvent(lease, this.#at()));
  }

  #about(runId: string, { name: workflow, version }: Pick<Contract, "name" | "version">, { trace: turn }: Lease) {
    const trace = turn?.trace;
    return { runId, workflow, version, at: this.#at(), ...(trace !== undefined && { trace }) };
  }

  #at(): Date {
    return new Date(this.context.options.calls.clock.now());
  }

  /** Notes that a turn has ended and hands in no further finish. */
  noteTurnEnded(): void {
    this.#finishes.noteTurnEnded();
  }
}
