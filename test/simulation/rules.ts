/**
 * What must hold after everything that happens: of the rows as they stand, and of what became of them since the last
 * look. Each rule answers a sentence for what is wrong.
 */
import type { StandingAlarm } from "../engine/platform.ts";
import type { Outlook } from "../engine/watch.ts";
import { objection, twoMinutes } from "../engine/watch.ts";
import { cameTwice, KeptRules } from "./kept.ts";
import { keyOf } from "./ledger.ts";
import { booked } from "./programs/transaction.ts";
import { isOver, type Leased, type RunRows, type Snapshot } from "./snapshot.ts";
import { ToldEnds, wrongEndings, wrongUndos } from "./undoing.ts";

export interface Prospect extends Pick<Outlook, "alarms" | "isExact" | "since" | "now" | "graceMs" | "rungInVainAt"> {
  /** Whether some deployment carries the workflow's version. */
  readonly carries: (run: RunRows) => boolean;
  /** How many dispatches of a run may be counted that nobody has claimed. */
  readonly mostDispatches: (runId: string) => number;
  /** Whether somebody has asked that the run be deleted. */
  readonly mayBeDeleted: (runId: string) => boolean;
  /** Whether the leases were voided: a process that has the database for itself took over. */
  readonly isTakenOver: boolean;
  /** The latest time that the database's clock has shown. A call that was decided then may commit after the clock was set back. */
  readonly latest: number;
  /** Whether the wake rule is not asked: a process that died took its alarms with it, and the next one has not ticked yet. */
  readonly isBeginning: boolean;
  /** Instant since which nothing has gone wrong. */
  readonly calmAt: number;
  readonly longestWaitMs: (dispatches: number) => number;
  /** When a group of suspects was last under way somewhere. The others queue behind it, however slow it is. */
  readonly groupAt: number;
  /**
   * How many milliseconds the database's clock was moved. An instant that was stored before may be so much further
   * away.
   */
  readonly steppedMs: number;
  /**
   * How many milliseconds later a ready run may be found, because the clock was set. If it was set back, that is none: the
   * alarm or the process knows of the due instants of the clock as it was.
   */
  readonly lateMs: number;
}

export class Rules {
  readonly #before = new Map<string, RunRows>();
  /** The most dispatches that each run was seen with: what nobody claimed may be looked at less often. */
  readonly #dispatches = new Map<string, number>();

  /** When each run's last turn began or ended, or when it became ready, which its row does not tell. */
  readonly #movedAt = new Map<string, number>();

  readonly #kept = new KeptRules();

  readonly #toldEnds = new ToldEnds();

  /** The runs that were deleted. */
  readonly #deleted = new Set<string>();

  /** Answers everything that is wrong. */
  check({ orphans, bare, runs, kept }: Snapshot, prospect: Prospect): readonly string[] {
    const found: string[] = [];
    if (orphans > 0) found.push(`${orphans} rows belong to no run`);
    if (bare > 0) found.push(`${bare} runs have no state`);
    if (kept.length > 0) found.push(...this.#kept.check({ kept, runs }, prospect));
    for (const run of runs) {
      const before = this.#before.get(run.runId);
      const wrong = [...wrongRows(run), ...(before === undefined ? [] : wrongChange(before, run, prospect))];
      wrong.push(...this.#toldEnds.check(before, run));
      const stall = before && this.#stall(before, prospect);
      if (stall !== undefined) wrong.push(stall);
      const isReadied = hasBecomeClaimable(before, run, prospect.now);
      const isResumed = before?.isStopped === true && !run.isStopped;
      if (before === undefined || before.turn !== run.turn || before.token !== run.token || isReadied || isResumed)
        this.#movedAt.set(run.runId, prospect.now);
      const w = prospect.isBeginning ? undefined : this.#wrongAlarms(run, prospect);
      if (run.dispatches > prospect.mostDispatches(run.runId))
        wrong.push(`${run.dispatches} dispatches of it are counted, and the platform has taken fewer`);
      if (w !== undefined) wrong.push(`the wake rule does not hold: ${w}`);
      found.push(...wrong.map((sentence) => `of ${run.runId}: ${sentence}`));
      this.#before.set(run.runId, run);
    }
    for (const run of [...this.#before.values()].filter(({ runId }) => !runs.some((each) => each.runId === runId))) {
      if (!prospect.mayBeDeleted(run.runId)) found.push(`${run.runId} is gone`);
      else if (!isOver(run)) found.push(`${run.runId} was ${run.status}, and is gone`);
      this.#before.delete(run.runId);
      this.#deleted.add(run.runId);
    }
    const back = runs.filter(({ runId }) => this.#deleted.has(runId));
    found.push(...back.map(({ runId }) => `${runId} was deleted, and is there again`));
    return found;
  }

  /** Answers why a run was left alone for too long, if it was. `run`: as it stood until now. */
  #stall(run: RunRows, { now, calmAt, carries, longestWaitMs, groupAt, lateMs }: Prospect): string | undefined {
    if (isOver(run) || run.isStopped || run.claimableAt === null || !carries(run)) return undefined;
    const movedAt = this.#movedAt.get(run.runId) ?? 0;
    const from = Math.max(
      run.claimableAt,
      calmAt,
      movedAt,
      run.isSuspect ? groupAt : 0,
      lastLeaseBeforeItStops(run, now),
    );
    const waitedMs = now - from;
    // Until a process learns by an answer that the clock was set ahead, its alarms ring so much too late.
    if (waitedMs <= longestWaitMs(this.#dispatches.get(run.runId) ?? 0) + lateMs) return undefined;
    return `it could be claimed, nothing went wrong any more, and nobody did so for ${waitedMs / 1_000} s`;
  }

  #wrongAlarms(run: RunRows, prospect: Prospect): string | undefined {
    if (isOver(run) || run.isStopped || !prospect.carries(run)) return undefined;
    const dispatches = Math.max(run.dispatches, this.#dispatches.get(run.runId) ?? 0);
    this.#dispatches.set(run.runId, dispatches);
    // What was ready while it was at work is claimable since its turn ended.
    const from = Math.max(run.claimableAt ?? 0, this.#movedAt.get(run.runId) ?? 0);
    const claimableAt = run.claimableAt === null ? null : from + prospect.steppedMs;
    const alarms = isOfOldClock(run, dispatches, prospect) ? prospect.alarms : prospect.alarms.map(forItself);
    return objection({ due: run.due, claimableAt, dispatches }, { ...prospect, alarms });
  }
}

/**
 * Tells whether a run that nobody could claim before can be claimed now. Its `claimableAt` alone does not tell when that began: it may be
 * the end of an old lease, though another branch has been at work until now.
 */
function hasBecomeClaimable(before: RunRows | undefined, { claimableAt }: RunRows, now: number): boolean {
  if (claimableAt === null || claimableAt > now) return false;
  if (claimableAt === 0) return before?.claimableAt !== 0;
  return before === undefined || before.claimableAt === null || before.claimableAt > now;
}

/** Tells whether a run's due instant may be one of the clock as it was before it was set back. */
function isOfOldClock({ due }: RunRows, dispatches: number, { latest, now }: Prospect): boolean {
  return latest > now && due !== null && due <= latest + twoMinutes + 60_000 * 2 ** dispatches;
}

/** An alarm whose tick looks at nothing but what is due by the clock. */
function forItself(alarm: StandingAlarm): StandingAlarm {
  return { ...alarm, readyUntil: undefined };
}

/**
 * Answers when the last lease of a branch ends. A run that is at its timeout, or cancelled, begins no turn before that.
 * Leases in cleanups do not count, until the hour of all cleanups is over.
 */
function lastLeaseBeforeItStops({ stopsAt, closings, pending }: RunRows, now: number): number {
  if (stopsAt === null || stopsAt > now) return 0;
  const counted = pending.filter(({ isShielded }) => !isShielded || closings > 0);
  return Math.max(0, ...counted.map(({ leasedUntil }) => leasedUntil ?? 0));
}

function* wrongRows(run: RunRows): Generator<string> {
  const { pending, signals, answers } = run;
  if (!run.isDense) yield "positions are not dense";
  if (!run.isDistinct) yield "two records have one place";
  for (const place of run.untidy) yield `${place} was recorded after the cancel, and in no cleanup`;
  if (run.closings > 0)
    for (const { place, kind, isShielded, isReleased } of pending)
      if (!isShielded && !(kind === "child" && isReleased)) yield `it closes, and waits for ${place}`;
  for (const { place, isMistold } of pending) if (isMistold) yield `${place} tells the end of a run that goes on`;
  if (run.closings > 2) yield "it was told of its cancel more than twice";
  if (!run.timesAscend) yield "a record is older than the one before it";
  if (run.handedPosition > run.lastPosition) yield "more records were handed out than there are";
  if (!run.hasPending && pending.length > 0) yield "has_pending is false, and there are pending rows";
  const untaken = [...signals, ...answers].filter(({ position }) => position === null);
  if (!run.hasMail && untaken.length > 0) yield "has_mail is false, and there is mail";
  if (signals.some(({ position, isTaken }) => position !== null && isTaken !== true))
    yield "a signal was taken by no record that holds it";
  const takenAt = [...signals, ...answers].flatMap(({ position }) => (position === null ? [] : [position]));
  if (new Set(takenAt).size < takenAt.length) yield "one record took two signals or answers";
  for (const { name, position } of signals)
    if (position === null && run.closed.includes(name))
      yield `"${name}" is closed, and a signal that came is not taken`;
  for (const name of new Set(signals.map((signal) => signal.name))) {
    const order = signals.filter((signal) => signal.name === name).map(({ position }) => position);
    const taken = order.filter((position) => position !== null);
    if (order.slice(0, taken.length).includes(null)) yield `a signal "${name}" was passed over`;
    if (taken.some((position, index) => index > 0 && position <= (taken[index - 1] ?? 0)))
      yield `signals "${name}" were taken out of order`;
  }
  yield* cameTwice(run);
  yield* wrongUndos(run);
  yield* wrongBookings(run);
  if (!isOver(run)) return;
  if (run.due !== null) yield "it is over, and due";
  if (pending.length > 0) yield "it is over, and waits";
}

/** What a transaction has written is there once, together with its record. A repair drops records, and keeps what was written. */
function* wrongBookings(run: RunRows): Generator<string> {
  const { bookings, steps, epoch } = run;
  if (new Set(bookings).size < bookings.length) yield "a transaction was committed twice";
  if (epoch > 0) return;
  const recorded = steps
    .filter(({ place, failure }) => isBooking.test(place) && failure === null)
    .map(({ place }) => keyOf(run, place));
  for (const key of recorded) if (!bookings.includes(key)) yield `the transaction with the key ${key} wrote nothing`;
  for (const key of bookings) if (!recorded.includes(key)) yield `the transaction with the key ${key} has no record`;
}

const isBooking = new RegExp(`(^|/)${booked}#`);

/** A retry may be taken back. Then the run is as it was before. */
function* wrongEpoch(before: RunRows, run: RunRows): Generator<string> {
  const { epoch, status } = run;
  if (epoch < before.epoch - 1 || epoch > before.epoch + 1) yield `it was in epoch ${before.epoch}, and is in ${epoch}`;
  if (epoch < before.epoch && status !== "failed") yield `a repair was taken back, and it is ${status}`;
  if (run.turn <= before.turn) yield "another epoch has begun, and its turn is the old one";
}

/** A move to another version is not for a run that is over or at work, and makes stale what was dispatched for the old code. */
function* wrongMove(before: RunRows, run: RunRows): Generator<string> {
  if (before.version === run.version) return;
  if (isOver(before)) yield "it was over, and was moved to another version";
  if (run.turn <= before.turn) yield "it was moved to another version, and its turn is the old one";
  const old = new Set(tokensOf(before));
  if (tokensOf(run).some((token) => token !== null && old.has(token)))
    yield "it was moved to another version, and a lease stands that was there before";
}

function* wrongChange(before: RunRows, run: RunRows, { now, latest, isTakenOver }: Prospect): Generator<string> {
  yield* wrongMove(before, run);
  if (before.epoch !== run.epoch) return yield* wrongEpoch(before, run);
  if (before.records.some((hash, index) => run.records[index] !== hash)) yield "a record changed";
  if (run.turn < before.turn) yield "its turn went back";
  if (isOver(before) && (before.status !== run.status || before.end !== run.end)) yield "its end changed";
  if (isOver(before) && run.lastPosition > before.lastPosition) yield "it was over, and something was recorded";
  if (before.isPaused && run.isPaused && hasBegun(before, run)) yield "it is paused, and something began";
  if (isTimeoutKept(before, run, now)) yield "its timeout was not put off by its pause";
  yield* wrongClosing(before, run, now);
  yield* wrongEndings(before, run, { now: latest, areLeasesCut: isTakenOver });
  if (isTakenOver) return;
  if (isSeized(before, run, latest)) yield "its lease was live, and another one began";
  for (const row of run.pending) {
    const old = before.pending.find(({ place }) => place === row.place);
    if (old !== undefined && isSeized(old, row, latest))
      yield `the lease of ${row.place} was live, and another one began`;
  }
}

/** A call that resumes the run may be decided some time before it takes effect, but not so long. */
const longPauseMs = 1_200_000;

/** Tells whether a run was resumed after a long pause, and its time went on meanwhile. */
function isTimeoutKept(before: RunRows, run: RunRows, now: number): boolean {
  if (before.pausedAt === null || run.isPaused || run.isCancelling || isOver(run)) return false;
  return run.timeoutAt !== null && run.timeoutAt === before.timeoutAt && now - before.pausedAt > longPauseMs;
}

function* wrongClosing(before: RunRows, run: RunRows, now: number): Generator<string> {
  if (before.closings === 0 && run.closings > 0)
    for (const { place, isShielded, token, leasedUntil } of before.pending)
      if (!isShielded && token !== null && (leasedUntil ?? 0) > now)
        yield `it closes, and the lease of ${place} stands`;
  if (before.isCancelling && isOver(run) && run.status !== "cancelled") yield `it was cancelled, and is ${run.status}`;
  if (before.isCancelling && !run.isCancelling) yield "its cancel is gone";
  if (before.isCancelling && run.closings === 0 && !isOver(run)) {
    if (run.token !== null && run.token !== before.token) yield "it was cancelled, and a turn of it began untold";
    for (const { place, isShielded, token } of run.pending)
      if (!isShielded && token !== null && token !== before.pending.find((row) => row.place === place)?.token)
        yield `it was cancelled, and ${place} began`;
  }
  if (isOver(run) || run.closings > 1) return;
  const there = new Set([...run.tidied, ...run.pending.map(({ place }) => place)]);
  for (const { place, isShielded } of before.pending)
    if (isShielded && !isInRace(place) && !there.has(place))
      yield `${place} stands in a cleanup, and is gone unrecorded`;
}

/** Tells whether a place stands in a branch of a race. What lost it is gone. */
function isInRace(place: string): boolean {
  return /(^|\/)race(#\d+)?\[/.test(place);
}

/** Tells whether the run, or a branch of it, has a lease that it did not have before. */
function hasBegun(before: RunRows, run: RunRows): boolean {
  const old = new Set(tokensOf(before));
  return tokensOf(run).some((token) => token !== null && !old.has(token));
}

function tokensOf({ token, pending }: RunRows): readonly (string | null)[] {
  return [token, ...pending.map((row) => row.token)];
}

/**
 * Tells whether a lease was taken from its holder. It ends only when its turn is finished, or when its time is over.
 */
function isSeized(before: Leased, { turn, token, finishedToken }: Leased, now: number): boolean {
  if (before.token === null || token === null || token === before.token || turn !== before.turn) return false;
  return finishedToken !== before.token && before.leasedUntil !== null && before.leasedUntil > now;
}
