/**
 * One invocation: claims a set of turns in one call, carries them out side by side, and finishes them in a few.
 *
 * Whatever fails here fails for this invocation only: the lease runs out and the turn is claimed again. So every error
 * is reported, and none is passed on.
 */
import type { Demand } from "../core/demand.ts";
import { placeName } from "../core/demand.ts";
import { LayoverError } from "../core/errors.ts";
import { groupsOf, inGroupOf } from "../core/groups.ts";
import type { TurnRef } from "../core/ports.ts";
import { hostClock, pause } from "../postgres/clock.ts";
import type { ClaimAnswer, ClaimCall, ClaimedBranch, ClaimedRun, ClaimTurn, FinishBranch } from "../postgres/wire.ts";
import { type AttemptResult, attemptStep } from "./attempt.ts";
import { branchResult } from "./branch-result.ts";
import { claimInParts } from "./claim-in-parts.ts";
import type { Crew } from "./crew.ts";
import { failed, timedOut } from "./ending.ts";
import { finishEvents, lossEvent } from "./finish-events.ts";
import { Finishes } from "./finishes.ts";
import { type Flight, takeOff } from "./flight.ts";
import { type Lease, Leases } from "./leases.ts";
import type { Finish } from "./lesser-finishes.ts";
import { branchRefs, Onward } from "./onward.ts";
import { defaults, type EngineOptions } from "./options.ts";
import { recognise } from "./recognise.ts";
import { isToReplay, replayHistory } from "./replay-history.ts";
import { heldUp, RunTurn } from "./run-turn.ts";
import { wrongEnvironment } from "./wrong-environment.ts";

type Claimed = ClaimedRun | ClaimedBranch;

/** Answers whether it could claim: whether the database answered, and knows this environment. */
export async function carryOut(crew: Crew, refs: readonly TurnRef[], onEnd: () => void = () => {}): Promise<boolean> {
  while (!crew.gate.isOpen || crew.room.isFull) {
    await crew.gate.pass();
    await crew.room.pass();
    if (crew.isClosing) return false;
  }
  const invocation = new Invocation(crew, refs.length);
  crew.room.reserve(invocation);
  try {
    return await invocation.carryOut(refs, onEnd);
  } finally {
    crew.room.leave(invocation);
  }
}

class Invocation {
  readonly #crew: Crew;
  readonly #options: EngineOptions;
  /** Who speaks where code and history do not fit. */
  readonly #refuser: { readonly deployment?: string };
  readonly #terms: Omit<ClaimCall, "turns">;
  readonly #host;
  readonly #leases: Leases;
  readonly #finishes: Finishes;
  readonly #onward: Onward;
  readonly #endsAt: number;

  constructor(crew: Crew, turns: number) {
    const { options, registry, gate, kept } = crew;
    const { random = Math.random, resendMs = Number.POSITIVE_INFINITY } = options;
    const { calls, leaseMs = defaults.leaseMs, environment = defaults.environment, invocation } = options;
    this.#crew = crew;
    this.#options = options;
    this.#host = options.host ?? hostClock;
    this.#refuser = options.deployment === undefined ? {} : { deployment: options.deployment.id };
    this.#terms = {
      environment,
      endpoint: calls.endpoint,
      versions: registry.versions,
      ...this.#refuser,
      leaseMs,
      maxClaims: defaults.maxClaims,
      maxBeginnings: defaults.maxBeginnings,
      budgetBytes: options.claimBytes ?? defaults.claimBytes,
    };
    const onError = crew.report;
    this.#onward = new Onward(options, onError);
    const host = this.#host;
    const onLost = (lease: Lease) => this.#tellLoss(lease);
    this.#leases = new Leases({ calls, host, leaseMs, gate, random, onError, onLost });
    const endsAt = host.monotonic() + resendMs;
    this.#finishes = new Finishes({ calls, host, claim: this.#terms, turns, kept, endsAt, onError });
    this.#endsAt = this.#host.monotonic() + (invocation?.budgetMs ?? defaults.budgetMs);
  }

  async carryOut(refs: readonly TurnRef[], onEnd: () => void): Promise<boolean> {
    const { warm } = this.#crew;
    const asked = refs.map((ref) => {
      const held =
        ref.branch === undefined
          ? warm.take(ref.runId)
          : warm.findFor(ref.runId, ref.branch.path, ref.branch.occurrence);
      return { ref, held, turn: this.#claimTurn(ref, held) };
    });
    const wishes: TurnRef[] = [];
    let answer: ClaimAnswer;
    try {
      answer = await claimInParts(
        this.#options.calls,
        this.#terms,
        asked.map(({ turn }) => turn),
        this.#report,
      );
    } catch (error) {
      this.#report(error, "claiming turns");
      return false;
    }
    const { room } = this.#crew;
    for (const [index, { turn }] of asked.entries()) {
      const claimed = answer.turns[index];
      if (claimed?.outcome === "claimed" && "historyBytes" in claimed)
        room.enter(turn, { bytes: claimed.historyBytes });
    }
    room.leave(this);
    const left = asked.filter((_, index) => answer.turns[index]?.outcome === "later");
    for (const { ref, held } of left) if (ref.branch === undefined && held !== undefined) warm.keep(held);
    await this.#onward.send(left.map(({ ref }) => ref));
    await Promise.all(
      asked.map(async ({ ref, held, turn }, index) => {
        const claimed = answer.turns[index];
        try {
          if (claimed?.outcome === "claimed") await this.#carryOutOne(ref, turn, claimed, held);
          else if (claimed?.outcome === "alone") wishes.push(inGroupOf(claimed.groupSize, ref));
          else if (claimed?.outcome === "not_ready" && claimed.readyAt !== null)
            await this.#onward.later(ref, claimed.readyAt);
          else if (claimed?.outcome === "not_here") this.#options.onElsewhere?.(ref);
          else if (claimed?.outcome === "wrong_environment")
            this.#report(wrongEnvironment(this.#terms.environment), "claiming turns");
        } catch (error) {
          this.#report(error, `carrying out a turn of run ${ref.runId}`);
        } finally {
          room.leave(turn);
          this.#finishes.leave();
          onEnd();
        }
      }),
    );
    for (const group of groupsOf(wishes)) await this.#onward.send(group);
    return answer.turns.every(({ outcome }) => outcome !== "wrong_environment");
  }

  #claimTurn(ref: TurnRef, held: Flight | undefined): ClaimTurn {
    return {
      runId: ref.runId,
      turn: ref.turn,
      token: (this.#options.newToken ?? randomToken)(),
      alone: ref.alone ?? false,
      ...(ref.groupSize !== undefined && { groupSize: ref.groupSize }),
      ...ref.branch,
      ...(held !== undefined && {
        have: { epoch: held.epoch, position: held.execution.position, rowsThrough: held.rowsThrough },
      }),
    };
  }

  async #carryOutOne(ref: TurnRef, turn: ClaimTurn, claimed: Claimed, held: Flight | undefined): Promise<void> {
    const { branch } = ref;
    const lease = this.#leases.hold({ runId: turn.runId, token: turn.token, ...branch });
    this.#crew.leases.add(lease);
    try {
      if (claimed.claims > 0 && !(await this.#leases.begin(lease, claimed.beginnings + 1))) return;
      if (branch === undefined) await this.#carryOutRun(turn, claimed as ClaimedRun, held, lease);
      else await this.#carryOutBranch(turn, branch, claimed as ClaimedBranch, held, lease);
    } finally {
      this.#leases.release(lease);
      this.#crew.leases.delete(lease);
    }
  }

  async #carryOutRun(turn: ClaimTurn, first: ClaimedRun, held: Flight | undefined, lease: Lease): Promise<void> {
    const { calls } = this.#options;
    const { warm } = this.#crew;
    const flight = first.have === null ? await this.#takeOff(turn, first, lease) : held;
    if (flight === undefined) return;
    this.#crew.room.enter(turn, flight);
    lease.contract = flight.workflow.contract;
    let claimed = first;
    let claim = turn;
    for (let steps = 1; ; steps += 1) {
      if (isToReplay(claimed) && !(await this.#replay(flight, claim, claimed))) return this.#tellLoss(lease);
      if (claimed.pending != null && flight.execution.isAdrift) await flight.execution.drift(this.#patience());
      recognise(flight, claimed);
      flight.handedPosition = claimed.handedPosition;
      flight.bytes = Math.max(flight.bytes, claimed.historyBytes);
      const { deadlines, ...plan } = await new RunTurn({
        flight,
        claimed,
        patience: this.#patience,
        now: () => calls.clock.now(),
        attempt: (demand, number) => this.#attempt(flight, demand, number, claimed, lease),
        warn: (code, message) => flight.warn(this.#options, code, message),
      }).plan();
      const again = plan.next === "ready" && this.#maySpend(steps) ? this.#nextClaim(flight, claim, plan) : undefined;
      const more = plan.next === "blocked" ? this.#refuser : again !== undefined && { claim: again };
      const answer = await this.#finish(lease, { ...plan, runId: claim.runId, token: claim.token, ...more }, deadlines);
      if (answer.outcome !== "finished" && answer.outcome !== "deferred") return;
      if (
        answer.outcome === "finished" &&
        flight.execution.outcome === undefined &&
        flight.execution.divergence === undefined &&
        plan.setback === undefined
      ) {
        for (const demand of plan.demands ?? []) flight.rows.set(placeName(demand), demand.until);
        if (again !== undefined && answer.claim?.outcome === "claimed") {
          claimed = answer.claim;
          claim = again;
          lease.turn = { runId: again.runId, token: again.token };
          lease.isFinishSent = false;
          continue;
        }
        flight.handedPosition = flight.execution.position;
        flight.rowsThrough = flight.execution.position;
        warm.keep(flight);
      }
      if (plan.next === "blocked" && answer.isReady !== true) return; // until a new deployment tries
      return this.#onward.next(claim.runId, answer);
    }
  }

  async #carryOutBranch(
    turn: ClaimTurn,
    branch: NonNullable<TurnRef["branch"]>,
    claimed: ClaimedBranch,
    held: Flight | undefined,
    lease: Lease,
  ): Promise<void> {
    const flight = await this.#flightAt(turn, claimed, held, lease);
    if (flight === undefined) return;
    this.#crew.room.enter(turn, flight);
    const { execution } = flight;
    lease.contract = flight.workflow.contract;
    const demand = execution.find(branch.path, branch.occurrence);
    const finish = { runId: turn.runId, turn: claimed.turn, token: turn.token, ...branch };
    if (demand?.wanted.kind !== "step") {
      if (execution.losers.includes(placeName(branch))) return;
      if (execution.isHeldUp || execution.isAdrift) {
        const setback = execution.divergence ?? heldUp(execution.lastPlace);
        await this.#finish(lease, { ...finish, setback }, []);
        return;
      }
      const blocked =
        execution.divergence ?? `the run waits for the branch ${placeName(branch)}, which the code does not ask for`;
      return await this.#refuseBranch(lease, { ...finish, blocked });
    }
    const number = claimed.attempts + 1;
    const result = await this.#attempt(flight, demand, number, claimed, lease);
    if (result.kind === "failed" && execution.divergence !== undefined) {
      this.#crew.warm.forget(turn.runId);
      return await this.#refuseBranch(lease, { ...finish, blocked: execution.divergence });
    }
    const retryInMs = result.kind === "failed" ? result.retryInMs : undefined;
    const { endedAt } = result;
    const answer = await this.#finish(
      lease,
      {
        ...finish,
        ...branchResult(result, number, this.#options.requestId?.()),
        ...(demand.wanted.announces !== undefined && { announces: demand.wanted.announces }),
      },
      retryInMs === undefined ? [] : [endedAt + retryInMs],
    );
    if (answer.outcome !== "finished") return;
    const { continues, branches } = answer;
    await this.#onward.send([
      ...(continues == null ? [] : [{ runId: turn.runId, turn: continues }]),
      ...branchRefs(turn.runId, branches ?? []),
    ]);
    if (retryInMs !== undefined)
      await this.#onward.later({ runId: turn.runId, turn: answer.turn, branch }, endedAt + retryInMs);
  }

  /** What was given back is somebody else's by now. */
  #finish(lease: Lease, finish: Finish, deadlines: readonly number[]): ReturnType<Finishes["send"]> {
    if (lease.isGivenBack) return Promise.resolve({ outcome: "superseded" });
    lease.isFinishSent = true;
    return this.#finishes.send(finish, deadlines, (taken, answer) => this.#tellOf(lease, taken, answer));
  }

  #tellOf(lease: Lease, taken: Finish, answer: Awaited<ReturnType<Finishes["send"]>>): void {
    if (answer.outcome === "superseded" && !lease.isGivenBack) this.#tellLoss(lease);
    const { contract } = lease;
    if (answer.outcome !== "finished" || contract === undefined) return;
    const about = { runId: taken.runId, workflow: contract.name, version: contract.version, at: this.#at() };
    const isLeft = answer.isReady === true; // for another deployment, not blocked
    for (const event of finishEvents(taken, about, answer.isBlocked))
      if (event.kind !== "run_blocked" || !isLeft) this.#crew.tell(event);
  }

  #tellLoss(lease: Lease): void {
    if (lease.isLossTold) return;
    lease.isLossTold = true;
    this.#crew.tell(lossEvent(lease, this.#at()));
  }

  #at(): Date {
    return new Date(this.#options.calls.clock.now());
  }

  /** Code and history do not fit. Where another deployment may have the code, that one is asked. */
  async #refuseBranch(lease: Lease, finish: Omit<FinishBranch, "armed">): Promise<void> {
    const { runId, turn, path, occurrence } = finish;
    const answer = await this.#finish(lease, { ...finish, ...this.#refuser }, []);
    if (answer.outcome === "finished" && answer.isReady === true)
      await this.#onward.send([{ runId, turn, branch: { path, occurrence } }]);
  }

  /** A flight that stands where the branch was demanded; one replay serves all of them. */
  async #flightAt(
    turn: ClaimTurn,
    claimed: ClaimedBranch,
    held: Flight | undefined,
    lease: Lease,
  ): Promise<Flight | undefined> {
    const { warm } = this.#crew;
    const { epoch, position } = claimed;
    if (held !== undefined && claimed.have === position && held.epoch === epoch && held.execution.position === position)
      return held;
    const other = warm.findAt(turn.runId, epoch, position);
    if (other !== undefined) return other;
    if (claimed.run == null) {
      // What this process held stands elsewhere by now: the same token gets the whole answer.
      const { have: _, ...whole } = turn;
      const { turns } = await this.#options.calls.claimTurns({ ...this.#terms, turns: [whole] });
      const again = turns[0];
      return again?.outcome === "claimed" ? this.#flightAt(whole, again as ClaimedBranch, undefined, lease) : undefined;
    }
    const flight = await this.#takeOff(turn, claimed, lease);
    if (flight === undefined) return undefined;
    if (!(await this.#replay(flight, turn, claimed))) return void this.#tellLoss(lease);
    if (flight.execution.isAdrift) await flight.execution.drift(this.#patience());
    if (flight.execution.divergence === undefined && !flight.execution.isAdrift) warm.keep(flight);
    return flight;
  }

  /** Answers whether it read all that was claimed. False: the lease was lost meanwhile. */
  #replay(flight: Flight, turn: ClaimTurn, claimed: Claimed): Promise<boolean> {
    const { calls, claimBytes: budgetBytes = defaults.claimBytes } = this.#options;
    return replayHistory(flight, { calls, claimed, turn, budgetBytes, patience: this.#patience });
  }

  /** Begins the handler; a run whose input its schema refuses fails at once. */
  async #takeOff(turn: ClaimTurn, claimed: Claimed, lease: Lease): Promise<Flight | undefined> {
    const { run } = claimed;
    const workflow = run == null ? undefined : this.#crew.registry.find(run.workflow, run.version);
    if (run == null || workflow === undefined)
      throw new Error("the database answered a claim that this deployment cannot carry out");
    lease.contract = workflow.contract;
    try {
      return await takeOff(this.#options, workflow, {
        runId: turn.runId,
        epoch: claimed.epoch,
        handedPosition: claimed.handedPosition,
        run,
      });
    } catch (error) {
      if (!(error instanceof LayoverError)) throw error;
      if (error.code !== "invalid_input" && error.code !== "undecodable_value") throw error;
      const ending =
        error.code === "invalid_input"
          ? failed(error)
          : { next: "blocked" as const, value: error.message, ...this.#refuser };
      await this.#finish(lease, { runId: turn.runId, token: turn.token, position: claimed.position, ...ending }, []);
      return undefined;
    }
  }

  #attempt(
    flight: Flight,
    demand: Demand,
    number: number,
    { beginnings, timeoutAt }: Claimed,
    lease: Lease,
  ): Promise<AttemptResult> {
    const { wanted } = demand;
    if (wanted.kind !== "step") throw new Error(`${placeName(demand)} is no step`);
    const { calls, random = Math.random } = this.#options;
    const { runId, epoch, execution, workflow } = flight;
    const isTimed = timeoutAt != null && execution.cancellation === undefined; // what cleans up after it has its time
    const place = placeName(demand);
    flight.borrowers += 1;
    return attemptStep({
      demand,
      body: wanted,
      number,
      isExhausted: beginnings >= defaults.maxBeginnings,
      bodies: this.#crew.bodies,
      place: `${runId}/${epoch}/${place}`,
      runEnd: isTimed ? { at: timeoutAt, reason: () => timedOut(workflow.contract.name) } : undefined,
      seed: (text) => flight.seed(text),
      lease,
      host: this.#host,
      now: () => calls.clock.now(),
      random,
      onEnd: () => {
        flight.borrowers -= 1;
        execution.bodyEnded(place);
      },
    });
  }

  /** How long a handler may await something of its own. */
  readonly #patience = (): Promise<void> => pause(this.#host, defaults.patienceMs);

  #maySpend(steps: number): boolean {
    const { maxSteps = defaults.maxSteps } = this.#options.invocation ?? {};
    return steps < maxSteps && this.#host.monotonic() < this.#endsAt && !this.#crew.isClosing && this.#crew.gate.isOpen;
  }

  #nextClaim(
    flight: Flight,
    claim: ClaimTurn,
    plan: { readonly position: number; readonly records?: readonly unknown[] },
  ): ClaimTurn {
    const position = plan.position + (plan.records?.length ?? 0);
    return {
      ...this.#claimTurn({ runId: claim.runId, turn: claim.turn + 1 }, undefined),
      have: { epoch: flight.epoch, position, rowsThrough: position },
    };
  }

  readonly #report = (error: unknown, doing: string): void => {
    this.#crew.report(error, doing);
  };
}

function randomToken(): string {
  return crypto.randomUUID();
}
