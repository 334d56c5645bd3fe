/**
 * What a turn can hand out without carrying out a step: sleeps that ended, waits whose deadline passed, signals and
 * answers that came. The earliest goes first.
 *
 * An answer stamped at or before a wait's deadline wins over the timeout. All such answers were committed before the
 * claim, under the lock that the claim took; so a deadline counts as passed only if it lies before the claim. And what
 * bears a later stamp than the claim came before it nevertheless: the database's clock was set back. It counts as come
 * at the claim.
 *
 * Whoever answers a callback is told that it is too late once the database knows the wait's deadline. Until then each
 * answer is accepted, and what was accepted is taken: so a wait times out only after it was recorded.
 */
import { type CallbackPlace, type Demand, placeName } from "./demand.ts";

export interface OfferedSignal {
  readonly number: number;
  readonly name: string;
  readonly payload: string;
  readonly isFailure: boolean;
  readonly receivedAt: number;
}
export interface OfferedAnswer {
  readonly path: string;
  readonly occurrence: number;
  readonly outcome: "resolved" | "rejected";
  readonly value: string;
  readonly answeredAt: number;
  /** The epoch of the URL by which it came. Left out by functions of an earlier release: that of the run. */
  readonly epoch?: number;
}
/** How a run has ended that this one waits for. */
export interface OfferedEnd {
  readonly path: string;
  readonly occurrence: number;
  readonly status: "completed" | "failed" | "cancelled";
  readonly value: string;
  readonly endedAt: number;
}
export interface Offers {
  /** The signals that were not taken yet, in order of arrival. */
  readonly signals: readonly OfferedSignal[];
  /** Names of signals of which more may have come than the claim offered. */
  readonly mayHaveMore: ReadonlySet<string>;
  readonly answers: readonly OfferedAnswer[];
  readonly ends: readonly OfferedEnd[];
  /** Whether more runs may have ended than the claim offered. */
  readonly mayHaveMoreEnds: boolean;
  /** Whether the database knows this wait. */
  readonly isRecorded: (demand: Demand) => boolean;
  /** When it ends. */
  readonly untilOf: (demand: Demand) => number | undefined;
  /** The database's time of the claim. */
  readonly claimedAt: number;
  /** The database's time now. */
  readonly now: number;
}
export interface Offer {
  readonly kind: "sleep" | "signal" | "callback" | "child";
  readonly demand: Demand;
  readonly value: string | null;
  readonly isFailure: boolean;
  readonly signal: OfferedSignal | undefined;
  readonly at: number;
}

/** How many signals of one name a claim offers. */
const signalsPerName = 20;

/** The names of which a claim offers as many signals as it offers at most. */
export function namesWithMore(signals: readonly OfferedSignal[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const { name } of signals) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Set([...counts].flatMap(([name, count]) => (count >= signalsPerName ? [name] : [])));
}

export function earliestOffer(pending: readonly Demand[], offers: Offers): Offer | undefined {
  const passed = pending.some(({ wanted }) => isOfOthers(wanted.kind)) ? offers.claimedAt : offers.now;
  const used = new Map<string, Used>();
  let earliest: Offer | undefined;
  for (const demand of pending) {
    const offer = offerFor(demand, offers, passed, used);
    if (offer !== undefined && (earliest === undefined || offer.at < earliest.at)) earliest = offer;
  }
  return earliest;
}

/** Whether somebody else ends such a wait, or it may be so. */
function isOfOthers(kind: Demand["wanted"]["kind"]): boolean {
  return kind === "signal" || kind === "callback" || kind === "child";
}

/** What earlier demands are offered of the signals of one name: how many, and when the latest of them came. */
interface Used {
  readonly count: number;
  readonly latest: number;
}

function offerFor(demand: Demand, offers: Offers, passed: number, used: Map<string, Used>): Offer | undefined {
  const { wanted } = demand;
  const until = offers.untilOf(demand);
  const ended = (kind: Offer["kind"]): Offer | undefined =>
    until !== undefined && until <= passed
      ? { kind, demand, value: null, isFailure: false, signal: undefined, at: until }
      : undefined;
  switch (wanted.kind) {
    case "step":
    case "close":
    case "start":
    case "continueAsNew":
      return undefined;
    case "child": {
      const end = offers.ends.find(({ path, occurrence }) => path === demand.path && occurrence === demand.occurrence);
      if (end === undefined) return offers.isRecorded(demand) && !offers.mayHaveMoreEnds ? ended("child") : undefined;
      const at = Math.min(end.endedAt, offers.claimedAt);
      if (isAfter(at, until)) return ended("child");
      return {
        kind: "child",
        demand,
        value: end.value,
        isFailure: end.status !== "completed",
        signal: undefined,
        at,
      };
    }
    case "sleep":
      return ended("sleep");
    case "callback": {
      const { path, occurrence } = demand;
      const answer = offers.answers.find((one) => isAnswerTo(one, { path, occurrence, epoch: wanted.epoch }));
      if (answer === undefined) return offers.isRecorded(demand) ? ended("callback") : undefined;
      return {
        kind: "callback",
        demand,
        value: answer.value,
        isFailure: answer.outcome === "rejected",
        signal: undefined,
        at: Math.min(answer.answeredAt, offers.claimedAt),
      };
    }
    case "signal": {
      const named = offers.signals.filter(({ name }) => name === wanted.name);
      const { count, latest } = used.get(wanted.name) ?? { count: 0, latest: Number.NEGATIVE_INFINITY };
      const signal = named[count];
      if (signal === undefined) return offers.mayHaveMore.has(wanted.name) ? undefined : ended("signal");
      const receivedAt = Math.min(signal.receivedAt, offers.claimedAt);
      if (isAfter(receivedAt, until)) return ended("signal");
      // The clock may have been set back since the signal before it came. That one still goes first.
      const at = Math.max(receivedAt, latest);
      used.set(wanted.name, { count: count + 1, latest: at });
      return {
        kind: "signal",
        demand,
        value: signal.payload,
        isFailure: signal.isFailure,
        signal,
        at,
      };
    }
  }
}

/** Whether the answer came by the URL of this callback. */
export function isAnswerTo(answer: OfferedAnswer, callback: CallbackPlace): boolean {
  if (placeName(answer) !== placeName(callback)) return false;
  return callback.epoch === undefined || answer.epoch === undefined || answer.epoch === callback.epoch;
}

function isAfter(at: number, until: number | undefined): boolean {
  return until !== undefined && at > until;
}
