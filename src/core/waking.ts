/**
 * The rules of waking: when the scheduler looks at a run, and when an alarm rings for that. One rule stands above all
 * others, the wake rule (W in the tests): a run that may go on by itself has a due instant, and an alarm stands for
 * that. README.md beside this file has its exact text, what it does not cover, which files keep it, and the words.
 *
 * So no run is lost while nothing runs at all. Dispatches only make things fast. All instants are epoch milliseconds of
 * the database's clock, unless a comment names another clock.
 */

export const minuteMs = 60_000;

/** How exact the alarms and the delayed dispatches of a host are. */
export interface Pace {
  /** How much later than its instant an alarm may ring. */
  readonly latestRingMs: number;
  /**
   * The longest wait that is a delayed dispatch at once, beside the alarm. For a longer one an alarm rings early, and its
   * tick makes the dispatch.
   */
  readonly shortWaitMs: number;
  /** How long before a far wake instant its alarm is set at least, since it may ring late. */
  readonly earlyMs: number;
  /** The longest pause between two looks at a turn that was dispatched and that nobody has claimed. */
  readonly longestBackoffMs: number;
}

/** The longest of these pauses, whatever the host. */
export const longestBackoffMs = 6 * 60 * minuteMs;

/**
 * The pace of hosts whose alarms ring at the beginning of their minute, or within seconds of it: timers, Durable Objects.
 * They ring at most two minutes late, and that only after a fault.
 */
export const punctual: Pace = {
  latestRingMs: 2 * minuteMs,
  shortWaitMs: 2 * minuteMs,
  earlyMs: 0,
  longestBackoffMs,
};

/**
 * The pace of Amazon EventBridge Scheduler: a schedule fires within the minute that begins at its instant, and then its
 * function may start cold. So a far wait is looked at 65 s early, and Amazon SQS delivers its turn in time.
 *
 * Lambda takes every invocation, and drops it after a quarter of an hour if the account has no concurrency left. So a turn
 * that nobody claims is more often one of many that wait for their turn than one that nobody can carry out.
 */
export const withinTheMinute: Pace = {
  latestRingMs: 3 * minuteMs,
  shortWaitMs: 3 * minuteMs,
  earlyMs: 65_000,
  longestBackoffMs: 10 * minuteMs,
};

/** How much later than its instant an alarm may ring, whatever the host. From then on a run counts as overdue. */
export const latestRingMs = Math.max(punctual.latestRingMs, withinTheMinute.latestRingMs);

// ---- Calls: what is armed before a call is sent ----

/**
 * How long after its arming begins a call may take effect. The instant at which that ends is the call's `notAfter`. So
 * a call whose arming takes longer comes too late, and is armed and sent anew.
 */
export const callMs = 20_000;

/** The longest time that we expect between a call's `notAfter` and its COMMIT. */
const commitMs = 30_000;

/** How long arming an alarm may take. A Durable Object that hangs is tried several times within it. */
export const armMs = 30_000;

/**
 * The instant until which a call may still commit. An alarm that rings before that may find nothing, and does not ring
 * again. So a call counts only on alarms that ring later.
 */
export function latestCommit(notAfter: number): number {
  return notAfter + commitMs;
}

/**
 * Answers what is armed for a call that takes effect by `notAfter`. Postgres stores one of these instants as `due_at`,
 * and never another one. They are the motion minute, and the due instants of all wake instants that are later than the
 * latest commit (some 50 s ahead). A shorter wait has the motion minute behind it, and is dispatched after the call.
 *
 * `isBeat`: a cron ticks at a pace of its own for ever. If one tick comes too early, another one follows. So every wake
 * instant to come counts.
 */
export function instantsToArm(
  wakeInstants: readonly number[],
  { now, notAfter, isBeat, pace }: InstantsTerms,
): readonly number[] {
  const after = isBeat ? now : latestCommit(notAfter);
  const due = wakeInstants.filter((at) => at > after).map((at) => (isBeat ? at : dueFor(at, now, pace)));
  return [motionMinute(now), ...due];
}

interface InstantsTerms {
  readonly now: number;
  readonly notAfter: number;
  readonly isBeat: boolean;
  readonly pace: Pace;
}

// ---- Due instants ----

/**
 * The motion minute: the first whole minute that is at least 60 s ahead. A run in motion is due then. Its turns, many in
 * a minute, leave `due_at` unchanged, so no index is written (HOT). And the scheduler never looks at a run whose turn
 * was only just dispatched.
 */
export function motionMinute(now: number): number {
  return Math.ceil(now / minuteMs + 1) * minuteMs;
}

/** How far ahead a motion minute may be. */
export const longestMotionMs = 2 * minuteMs;

/**
 * The due instant that serves a wake instant. It is early, never late. For a far wake instant it is a whole minute before
 * it, so that many runs share one look. That look comes a little early, and dispatches what it finds for the wake
 * instant itself.
 */
export function dueFor(wakeAt: number, now: number, { shortWaitMs, earlyMs }: Pace): number {
  return wakeAt - now > shortWaitMs ? Math.floor((wakeAt - earlyMs) / minuteMs) * minuteMs : wakeAt;
}

/**
 * The due instant that serves a run's timeout. Few runs live until their timeout, so it must cost next to nothing. The
 * looks come closer and closer to the timeout (some five looks for 30 days). Each look is at a whole multiple of about
 * an eighth of the distance, so that runs with different timeouts share looks.
 */
export function dueForTimeout(timeoutAt: number, now: number, { shortWaitMs, earlyMs }: Pace): number {
  const distanceMs = timeoutAt - now;
  if (distanceMs <= shortWaitMs) return timeoutAt;
  const gridMs = minuteMs * 2 ** Math.max(0, Math.floor(Math.log2(distanceMs / 8 / minuteMs)));
  return Math.floor((timeoutAt - earlyMs) / gridMs) * gridMs;
}

// ---- Short waits: dispatches for later ----

/**
 * How far ahead a tick looks for the short waits of a process that may be dead. A run in motion is due within this: the
 * motion minute is at most two minutes ahead, and the call that stores it takes effect within a minute.
 */
export const lookAheadMs = 3 * minuteMs;

/** How much later than its instant a dispatch of such a look comes. Timers may fire a little early. */
const timerSlackMs = 20;

/** The delay of a dispatch that must not come before its instant. A claim that finds a lease still alive is refused. */
export function delayUntil(at: number, now: number): number {
  return at <= now ? 0 : at - now + timerSlackMs;
}

// ---- Backing off ----

/**
 * How long after a dispatch the scheduler looks again, if the turn was dispatched so often before and never claimed. A
 * turn that nobody can carry out must not keep the database awake.
 */
export function backoffMs(dispatches: number, { longestBackoffMs: longestMs }: Pace): number {
  return Math.min(minuteMs * 2 ** dispatches, longestMs);
}

/**
 * How long after a ring that another deployment did not answer it is rung again, if what it is to carry out is late by so much.
 */
export function ringAgainMs(lateMs: number): number {
  return Math.min(Math.max(lateMs, minuteMs), 10 * minuteMs);
}

/** The number of dispatches from which a turn is reported as unclaimed. So many take some minutes. */
export const unclaimedDispatches = 3;

// ---- Ticks ----

/** How long a tick may take for one page. After that it has failed. */
export const tickMs = 60_000;

/** How long after a tick that failed, or that left something, an alarm stands for the next one. */
export const nextTickMs = 60_000;

/**
 * How near an alarm must be to count as rung. A tick arms such an instant anew, since the clock of the host that rings
 * may be ahead.
 */
export const aboutToRingMs = 60_000;

/** How long the scheduler waits after the database takes results again. In this time every lease is renewed. */
export const afterOutageMs = 3_000;

/** The pause between two sweeps: ticks that nobody armed, in case an alarm was lost. */
export const sweepMs = 6 * 60 * minuteMs;

// ---- Alarms: when each kind of them rings ----

/**
 * Two clocks part by up to 100 millionths. An alarm that rings before the database's clock is there finds nothing due.
 * So a timer rings later by as much, but by no more than this. Its copy in another process begins up to 65 s later, and
 * rings within the two minutes as well. A timer that rings too early nevertheless is armed anew by its tick.
 */
const drift = 1e-4;
const longestDriftMs = 50_000;

/** How long a timer waits for an instant that is `inMs` ahead. */
export function timerMs(inMs: number): number {
  return inMs + Math.min(inMs * drift, longestDriftMs);
}

/**
 * How long after its minute a copy rings, in another process. If the first process is alive, it has moved on by then
 * what was due, and the copy finds nothing.
 */
const copySlackMs = 5_000;

/** The instant at which the copy of an alarm rings in another process. One copy serves all instants of a minute. */
export function copyOfAlarm(at: number): number {
  return Math.ceil(at / minuteMs) * minuteMs + copySlackMs;
}

/**
 * How long after its beginning a minute of a Durable Object rings. The hosts' clocks and the database's differ by a
 * little, and news of the time travels. So what is due when a minute begins seems to be due a little later, and that
 * minute's tick has to find it.
 */
export const minuteSlackMs = 2_000;

/** The number of the minute that rings for an instant: at the instant, or less than a minute after it. By the host's clock. */
export function minuteOf(at: number): number {
  return Math.ceil((at - minuteSlackMs) / minuteMs);
}

/** The instant at which a minute rings. By the host's clock. */
export function minuteRingsAt(minute: number): number {
  return minute * minuteMs + minuteSlackMs;
}

/** How long before its ring an isolate forgets a minute that it has armed, since the object's clock may be ahead. */
export const forgottenMs = 15_000;

/** How long after a tick that failed a Durable Object rings again. */
export const nextRingMs = 30_000;

/**
 * How long after its ring the tick of a minute may go on before somebody else ticks too. The cron trigger of the next
 * whole minute then sees that an alarm was dropped. That is at most two minutes after the instants of the minute.
 */
export const overdueMs = 45_000;
