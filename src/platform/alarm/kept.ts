/**
 * What the alarm keeps of an app, and how that changes. All of it is one value, so it is read and written as a whole.
 *
 * An instant is kept until a ring for it was answered well. If a ring is not, the next ones follow after the pauses
 * below. After a week of such rings, or where the app's address has answered 404 or 410 six times in a row, nothing rings
 * any more: the app is parked, until it arms something. What it had armed before rings then.
 *
 * An app that arms something during a ring is at work, perhaps for longer than the ring waits. If that ring is not answered
 * well, it counts as the first one.
 */

import { minuteMs, sweepMs } from "../../core/waking.ts";
import type { AlarmStatus, ArmOrder } from "../../http/alarm.ts";

/** An instant of the alarm's clock, and the instant of the database's clock for which it was armed. */
export type Instant = readonly [at: number, readyUntil: number];

export interface Kept {
  readonly app: string;
  /** The instants that stand, the earliest first. */
  readonly instants: readonly Instant[];
  /** The codes that have armed something, the latest last. */
  readonly deployments: readonly string[];
  /** The instant since which no ring was answered well: a sweep comes six hours later. */
  readonly quietSince: number;
  readonly answeredAt: number | null;
  /** How many answers in a row have asked for another ring at once. */
  readonly more: number;
  /** When the next ring comes, if not at an instant. Null: at an instant, or as a sweep. */
  readonly nextTryAt: number | null;
  readonly failures: number;
  /** How many of the last failures in a row said that nothing is there. */
  readonly gone: number;
  readonly failingSince: number | null;
  readonly lastFailure: string | null;
  readonly parkedAt: number | null;
}

/**
 * How long after its instant a ring comes. The clocks of the database and of this host differ by a little. What is due
 * at the instant must be due by the database's clock when the tick looks.
 */
const slackMs = 3_000;

/**
 * Which instant that stands serves another one: from a little after it until so long after it. Processes of an app arm
 * the same minute in slightly different moments, and it should ring once.
 */
const servedFromMs = 1_000;
const servedUntilMs = 15_000;

/** The most instants that stand. Beyond them an earlier one serves: its tick finds nothing due yet, and arms the next. */
export const mostStanding = 10_000;

/** The most distant instant that is kept: one year. An instant beyond it rings then, and its tick arms the next. */
const longestMs = 365 * 24 * 60 * minuteMs;

/** How long after each failure in a row the next ring comes; after the last of them each hour. */
const pausesMs = [30_000, minuteMs, 2 * minuteMs, 5 * minuteMs, 15 * minuteMs];
const longestPauseMs = 60 * minuteMs;

/** The failures in a row of an address where nothing is, and the time of any failures, after which an app is parked. */
const mostGone = 6;
const mostFailingMs = 7 * 24 * 60 * minuteMs;

/** How soon the next ring comes where something due was left, and from how many such answers in a row on it comes later. */
const moreMs = 1_000;
const manyMore = 100;

/** How many codes are known: those of several deployments beside each other. */
const mostDeployments = 8;

export function newKept(app: string, now: number): Kept {
  const never = { answeredAt: null, nextTryAt: null, failingSince: null, lastFailure: null, parkedAt: null };
  return { app, instants: [], deployments: [], quietSince: now, more: 0, failures: 0, gone: 0, ...never };
}

/**
 * Keeps what is armed. An app that arms is alive, so it is rung again soon, and is parked no more. After one failure it was
 * perhaps replaced just then, and is rung at once.
 */
export function withArmed(kept: Kept, { arm, deployment }: ArmOrder, now: number): Kept {
  const isKnown = kept.deployments.includes(deployment);
  const wanted = arm.map(([inMs, readyUntil]): Instant => {
    return [now + Math.min(Math.max(inMs, 0), longestMs) + slackMs, readyUntil];
  });
  const all = isKnown ? wanted : [...wanted, [now + slackMs, 0] as const];
  const { nextTryAt, failures } = kept;
  const soonAt = now + (failures > 1 ? (pausesMs[0] ?? 0) : slackMs);
  return {
    ...kept,
    instants: all.reduce(withInstant, kept.instants),
    deployments: isKnown ? kept.deployments : [...kept.deployments, deployment].slice(-mostDeployments),
    ...(kept.parkedAt !== null && { parkedAt: null, failures: 0, gone: 0, failingSince: null, quietSince: now }),
    nextTryAt: kept.parkedAt !== null || nextTryAt === null ? null : Math.min(nextTryAt, soonAt),
  };
}

function withInstant(instants: readonly Instant[], wanted: Instant): readonly Instant[] {
  const [at, readyUntil] = wanted;
  const from = firstAfter(instants, at - slackMs + servedFromMs - 1);
  const serving = instants[from];
  if (serving !== undefined && serving[0] <= at - slackMs + servedUntilMs)
    return instants.with(from, [serving[0], Math.max(serving[1], readyUntil)]);
  const place = firstAfter(instants, at);
  if (instants.length < mostStanding) return instants.toSpliced(place, 0, wanted);
  // The last one is served by the one before it, and this one by any that is earlier.
  return place > 0 ? instants : [wanted, ...instants.slice(0, -1)];
}

/** The place of the first instant later than `at`. */
function firstAfter(instants: readonly Instant[], at: number): number {
  let low = 0;
  let high = instants.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((instants[middle]?.[0] ?? 0) > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** When the next ring comes. Null: the app is parked. */
export function nextRingAt({ parkedAt, nextTryAt, instants, quietSince }: Kept): number | null {
  if (parkedAt !== null) return null;
  return nextTryAt ?? Math.min(instants[0]?.[0] ?? Number.POSITIVE_INFINITY, quietSince + sweepMs);
}

/** The instants for which a ring at this instant is. */
export function dueAt({ instants }: Kept, at: number): readonly Instant[] {
  return instants.slice(0, firstAfter(instants, at));
}

/** Notes that a ring at `rungAt` was answered well. */
export function afterAnswer(kept: Kept, rungAt: number, { now, more }: { now: number; more: boolean }): Kept {
  const count = more ? kept.more + 1 : 0;
  return {
    ...kept,
    instants: kept.instants.slice(firstAfter(kept.instants, rungAt)),
    quietSince: rungAt,
    answeredAt: now,
    more: count,
    nextTryAt: more ? now + (count < manyMore ? moreMs : (pausesMs[0] ?? 0)) : null,
    failures: 0,
    gone: 0,
    failingSince: null,
    lastFailure: null,
  };
}

interface Failure {
  readonly now: number;
  /** Whether the address says that nothing is there. */
  readonly isGone: boolean;
  /** Whether the app has armed something since the ring began. */
  readonly isAlive: boolean;
}

/** Notes that a ring was not answered well. */
export function afterFailure(kept: Kept, says: string, { now, isGone, isAlive }: Failure): Kept {
  const before = isAlive ? { failures: 0, gone: 0, failingSince: null } : kept;
  const failures = before.failures + 1;
  const gone = isGone ? before.gone + 1 : 0;
  const failingSince = before.failingSince ?? now;
  const isParked = gone >= mostGone || now - failingSince >= mostFailingMs;
  return {
    ...kept,
    more: 0,
    failures,
    gone,
    failingSince,
    lastFailure: says,
    nextTryAt: isParked ? null : now + (pausesMs[before.failures] ?? longestPauseMs),
    parkedAt: isParked ? now : null,
  };
}

/** What is told of it. */
export function statusOf(kept: Kept, now: number): Omit<AlarmStatus, "url"> {
  const { app, instants, answeredAt, failures, lastFailure, parkedAt } = kept;
  return {
    app,
    now,
    standing: instants.length,
    nextRingAt: nextRingAt(kept),
    answeredAt,
    failures,
    lastFailure,
    parkedAt,
  };
}
