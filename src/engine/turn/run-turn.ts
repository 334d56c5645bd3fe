/** The turn of a run: hand out what came, carry out the one pending step, run on to the next demand. */

import { toStored } from "../../core/codec/stored-value.ts";
import { defaultLimits } from "../../core/limits.ts";
import { type CallbackPlace, type Demand, placeName } from "../../core/replay/demand.ts";
import { writeEnding } from "../../core/replay/undos.ts";
import type { Pace } from "../../core/waking.ts";
import type { ClaimedRun, EndsAs, FailedAttempt, NewRecord, Place } from "../../postgres/wire.ts";
import type { Mistake } from "../events.ts";
import type { LoadedRun } from "../replay/loaded-run.ts";
import type { TurnTrace } from "../telemetry.ts";
import { type AttemptResult, type Committed, interrupted } from "./attempt.ts";
import { describeEnd, type Ending, failed, tooLong } from "./ending.ts";
import { begunStep, inlineStep, isAfterRecords } from "./inline-step.ts";
import { endsOfInvoked, type ReadEnds } from "./invoked-ends.ts";
import { foreignAwait, foreignAwaitTooLong, goesOnRegardless, notAwaited } from "./mistake-texts.ts";
import { type NewChildren, newChildren } from "./new-children.ts";
import { isNewRun, newDemands } from "./new-demand.ts";
import { type Plan, recordTime, transactionPlan, withTimeout } from "./plan.ts";
import { type Entry, TurnMail, tracedWait } from "./turn-mail.ts";

export interface RunTurnOptions {
  readonly loaded: LoadedRun;
  readonly claimed: ClaimedRun;
  /** Up to a second for a handler that awaits something of its own. */
  readonly patience: () => Promise<void>;
  /** The database's time. */
  readonly now: () => number;
  /** Tells whether this invocation has time for a step. */
  readonly hasTimeFor: (step: Demand) => boolean;
  /** How exact the alarms of this host are. */
  readonly pace: Pace;
  /** `planOf`: makes what is committed with the result of a transaction. */
  readonly attempt: (
    demand: Demand,
    number: number,
    planOf: (value: string, beganAt: number) => Plan,
  ) => Promise<AttemptResult>;
  /** Reads how these runs have ended, as far as they have. */
  readonly readEnds: ReadEnds;
  /** Watches the turn. Undefined: nothing does. */
  readonly trace: TurnTrace | undefined;
  readonly warn: (code: Mistake["code"], message: string) => void;
}

export class RunTurn {
  readonly #options: RunTurnOptions;
  readonly #loaded: LoadedRun;
  readonly #claimed: ClaimedRun;
  readonly #records: NewRecord[] = [];
  #attempt: FailedAttempt | undefined;
  #isStepDone = false;
  readonly #closes: string[] = [];
  #announces: CallbackPlace | undefined;
  #committed: Committed | undefined;
  #bytes = 0;

  constructor(options: RunTurnOptions) {
    this.#options = options;
    this.#loaded = options.loaded;
    this.#claimed = options.claimed;
  }

  async plan(): Promise<Plan> {
    const { execution } = this.#loaded;
    const mail = await TurnMail.open(this.#loaded, this.#claimed);
    for (;;) {
      if (this.#committed !== undefined) return { ...this.#end("ready"), committed: this.#committed };
      if (execution.isAwaitingForeign) await this.#awaitForeign();
      if (execution.divergence !== undefined) {
        if (execution.isSetback) return this.#end("parked", { setback: execution.divergence });
        return this.#end("blocked", { value: execution.divergence });
      }
      if (this.#claimed.attempted != null && this.#claimed.endsAs != null) return await this.#endRun();
      if (execution.isOver || (execution.isAwaitingForeign && execution.isClosing)) {
        for (const what of execution.unawaited) this.#options.warn("not_awaited", notAwaited(what));
        return await this.#endRun();
      }
      if (execution.isAwaitingForeign)
        return this.#end("parked", { setback: foreignAwaitTooLong(execution.lastPlace) });
      const excess = this.#excess();
      if (excess !== undefined) return await this.#endByLimit({ next: "failed", value: excess });
      if (this.#claimed.attempted != null) return this.#end("blocked", { value: goesOnRegardless });

      const begun = begunStep(this.#loaded, this.#claimed);
      if (begun !== undefined && !this.#isStepDone) {
        this.#isStepDone = true;
        const retryInMs = await this.#runStep(begun, mail);
        if (retryInMs !== undefined) return this.#retry(retryInMs);
        continue;
      }
      const closing = execution.pending.find(({ wanted }) => wanted.kind === "close");
      if (closing?.wanted.kind === "close") {
        if (!(await this.#close(closing, closing.wanted.name, mail))) return this.#end("ready");
        continue;
      }
      const next = execution.pending.find(({ wanted }) => wanted.kind === "continueAsNew");
      if (next?.wanted.kind === "continueAsNew") return this.#end("ready", { continues: next.wanted.input });
      const offer = mail.next(this.#options.now());
      if (offer !== undefined) {
        const now = recordTime(this.#options.now(), execution, this.#claimed);
        this.#options.trace?.noteWait(tracedWait(offer, now));
        await this.#record(offer.demand, mail.take(offer));
        continue;
      }
      const step = inlineStep(this.#loaded, this.#claimed);
      if (step === undefined) {
        const started = await newChildren(this.#loaded, this.#options.now(), this.#options.trace?.traceparent);
        if (started.failed === undefined) return this.#park(started);
        const { value } = failed(started.failed.error);
        await this.#record(started.failed.demand, { kind: "start", isFailure: true, value });
        continue;
      }
      if (this.#isStepDone || (isAfterRecords(step) && this.#records.length > 0)) return this.#end("ready");
      if (!this.#options.hasTimeFor(step)) return this.#end("ready", { isLeft: true });
      this.#isStepDone = true;
      const retryInMs = await this.#runStep(step, mail);
      if (retryInMs !== undefined) return this.#retry(retryInMs);
    }
  }

  #retry(inMs: number): Plan {
    const now = this.#options.now();
    return this.#end("parked", { wakeInstants: this.#withTimeout([now + inMs], now) });
  }

  /**
   * Ends the run, or first writes down how it ends and what is to be undone. If a step that can be undone has no record, only the
   * database knows whether it has begun. Then the run closes first, as for a step that runs at most once, since a retry would
   * ask for it again. A cleanup amid which the handler has thrown goes on before.
   */
  async #endRun(end?: Ending): Promise<Plan> {
    const { next, value, failedUndos, failure } = end ?? (await describeEnd(this.#loaded, this.#claimed.endsAs));
    const { undos, onceSteps, closing, ending, mustCleanUp } = this.#loaded.execution;
    if (next === "completed" || ending !== undefined)
      return this.#end(next, { value, ...(failedUndos !== undefined && { failedUndos }) });
    const { attempted } = this.#claimed;
    const mayBeRetried = closing === undefined || failure !== undefined;
    const endsAs = { next, value, ...(failure !== undefined && { failure }) };
    if (mustCleanUp && attempted == null) return this.#end("ready", { closing: true, cleansUp: true, endsAs });
    const isUnsure = undos.hasUnrecorded || (mayBeRetried && onceSteps.hasOpen);
    if (isUnsure && attempted == null) return this.#end("ready", { closing: true, endsAs });
    for (const place of attempted ?? []) undos.noteBegun(place);
    const isFull = this.#claimed.historyBytes + this.#bytes >= defaultLimits.historyBytes; // then their undos are told no results
    const ends = await endsOfInvoked(isFull ? [] : undos.invoked, this.#options.readEnds);
    if (ends.unreadable !== undefined) return this.#end("blocked", { value: ends.unreadable });
    for (const { place, entry } of ends.records) await this.#record(place, entry);
    if (ends.isMore) return this.#end("ready", { closing: true, endsAs });
    const { owed } = undos;
    if (owed.length === 0) {
      const lapsed = mayBeRetried ? onceSteps.lapsed(attempted ?? []) : [];
      for (const { attempts, ...step } of lapsed)
        await this.#record(step, { kind: "step", isFailure: true, value: failed(interrupted(step)).value, attempts });
      const told = lapsed.length === 0 ? failure : (await describeEnd(this.#loaded, this.#claimed.endsAs)).failure;
      return this.#end(next, { value, ...(told !== undefined && { failure: told }) });
    }
    const place = { path: "", occurrence: 1 };
    await this.#record(place, { kind: "ending", value: writeEnding({ next, error: value, owed }) });
    return this.#end("ready", { ending: owed.length, endsAs });
  }

  /** Tells the handler, as after a cancel, so that it cleans up. It was told already if an earlier release has recorded the timeout. */
  async #endByLimit(endsAs: EndsAs): Promise<Plan> {
    const isTold = this.#loaded.execution.closing !== undefined || this.#claimed.attempted != null;
    return isTold ? await this.#endRun(endsAs) : this.#end("ready", { closing: true, cleansUp: true, endsAs });
  }

  /** The error of a run whose history is full. What cleans up has room. */
  #excess(): string | undefined {
    const { isClosing, ending, pending } = this.#loaded.execution;
    if (isClosing || ending !== undefined) return undefined;
    return tooLong(this.#claimed, { records: this.#records.length, bytes: this.#bytes, demands: pending.length });
  }

  /** Waits for what the handler awaits of its own. A warning tells of it, since the next replay may find it too slow. */
  async #awaitForeign(): Promise<void> {
    const { execution } = this.#loaded;
    await execution.awaitForeign(this.#options.patience());
    if (!execution.isAwaitingForeign) this.#options.warn("foreign_await", foreignAwait(execution.lastPlace));
  }

  /**
   * Records whether the name could be closed: it is, unless a signal of that name is there. Answers false if only the
   * next turn can decide, because this turn has carried out a step, or because the claim did not offer all signals.
   *
   * A signal may still come until the finish. Then the finish is deferred, and the records of the turn are dropped. So a
   * turn that closes a name carries out no step.
   */
  async #close(demand: Demand, name: string, mail: TurnMail): Promise<boolean> {
    const hasMail = mail.hasSignal(name);
    if (!hasMail) {
      if (mail.mayHaveMore(name) || (this.#isStepDone && this.#closes.length === 0)) return false;
      this.#isStepDone = true;
      this.#closes.push(name);
    }
    await this.#record(demand, { kind: "close", value: toStored(!hasMail, { what: `whether ${name} is closed` }) });
    return true;
  }

  /** Runs the step once. Answers the delay until its next attempt, if there is to be one. */
  async #runStep(step: Demand, mail: TurnMail): Promise<number | undefined> {
    const announces = step.wanted.kind === "step" ? step.wanted.announces : undefined;
    const number = this.#loaded.failedAttemptsOf(placeName(step)) + 1;
    if (announces !== undefined && mail.hasAnswerTo(announces)) {
      // Whoever answered knew the callback, whatever became of its announcement.
      await this.#record(step, {
        kind: "step",
        value: toStored(undefined, { what: "the announcement" }),
        attempts: Math.max(1, number - 1),
      });
      return undefined;
    }
    const result = await this.#options.attempt(step, number, (value, beganAt) =>
      transactionPlan(this.#loaded, this.#claimed, step, {
        value,
        beganAt,
        attempts: number,
        now: this.#options.now(),
      }),
    );
    const { beganAt } = result;
    if (result.kind === "committed") {
      this.#committed = result.answer;
      return undefined;
    }
    if (result.kind === "succeeded") {
      await this.#record(step, { kind: "step", value: result.value, beganAt, attempts: number });
      return undefined;
    }
    // Wrong code around the body may be why it failed. Corrected code carries the step out again, or undoes it.
    const isWrong = this.#loaded.execution.divergence !== undefined;
    const { path, occurrence, demandedAfter, isShielded } = step;
    const { error, endedAt } = result;
    const retryInMs = isWrong ? undefined : result.retryInMs;
    const place = { path, occurrence, demandedAfter, ...(isShielded && { isShielded }) };
    this.#attempt = { ...place, number, beganAt, endedAt, error, ...(retryInMs !== undefined && { retryInMs }) };
    if (isWrong) return undefined;
    if (retryInMs !== undefined) {
      this.#loaded.noteFailedAttempts(placeName(step), number);
      return retryInMs;
    }
    this.#announces = announces;
    await this.#record(step, { kind: "step", value: error, isFailure: true, beganAt, attempts: number });
    return undefined;
  }

  async #record({ path, occurrence }: Place, entry: Entry): Promise<void> {
    const { execution } = this.#loaded;
    const { kind, isFailure = false, value = null, attempts = 1 } = entry;
    const at = recordTime(this.#options.now(), execution, this.#claimed);
    this.#records.push({ ...entry, path, occurrence, at });
    this.#bytes += this.#loaded.room.bytesOf(value ?? "");
    await execution.hand({ kind, path, occurrence, isFailure, value, recordedAt: at, attempts });
  }

  #park({ children, isMore }: NewChildren): Plan {
    const { execution } = this.#loaded;
    const demands = newDemands(this.#loaded);
    const waits = [
      ...execution.pending.flatMap((demand) =>
        isNewRun(demand) && !this.#loaded.hasRow(placeName(demand)) ? [] : (this.#loaded.untilOf(demand) ?? []),
      ),
      ...children.flatMap(({ until }) => until ?? []), // those that wait for a slot have no end yet
    ];
    const goesOn = isMore || children.some(({ isDetached }) => isDetached);
    return this.#end(goesOn ? "ready" : "parked", {
      ...(demands.length > 0 && { demands }),
      ...(children.length > 0 && { children }),
      wakeInstants: this.#withTimeout(waits, this.#options.now()),
    });
  }

  #withTimeout(instants: readonly number[], now: number): readonly number[] {
    return withTimeout(instants, this.#claimed, { now, pace: this.#options.pace });
  }

  #end(next: Plan["next"], more: Partial<Plan> = {}): Plan {
    const released = this.#loaded.execution.races.releases.filter(
      ({ position }) => position > this.#claimed.handedPosition,
    );
    const says = this.#loaded.takeSayings(this.#claimed.position);
    const patches = this.#loaded.takePatches();
    const input = this.#loaded.takeMadeInput();
    return {
      position: this.#claimed.position,
      next,
      bytes: this.#bytes,
      wakeInstants: [],
      ...(this.#records.length > 0 && { records: this.#records }),
      ...(this.#attempt !== undefined && { attempt: this.#attempt }),
      ...(released.length > 0 && { released }),
      ...(this.#closes.length > 0 && { closes: this.#closes }),
      ...(says.length > 0 && { says }),
      ...(patches.length > 0 && { patches }),
      ...(input !== undefined && { input }),
      ...(this.#announces !== undefined && { announces: this.#announces }),
      ...more,
    };
  }
}
