/**
 * The rule by which schedules fire, told in the slowest way: a walk from minute to minute that looks at the clock on the
 * wall, as Intl shows it. Nothing in it knows how SQL finds a firing.
 */
import type { Pattern } from "./patterns.ts";

const minute = 60_000;
const day = 24 * 60 * minute;

/** What the clock on the wall shows, as the milliseconds of a UTC clock that shows the same. */
export type Wall = (instant: number) => number;

export function wallOf(timezone: string): Wall {
  const format = new Intl.DateTimeFormat("en", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (instant) => {
    const shown = new Map(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes) => shown.get(type) ?? Number.NaN;
    return Date.UTC(
      part("year"),
      part("month") - 1,
      part("day"),
      part("hour"),
      part("minute"),
      part("second"),
      ((instant % 1000) + 1000) % 1000,
    );
  };
}

/** Finds the instants at which the clocks change, by looks five days apart. */
export function clockChanges(wall: Wall, from: number, to: number): number[] {
  const changes: number[] = [];
  const offset = (instant: number) => wall(instant) - instant;
  for (let start = from; start < to; start += 5 * day) {
    let [before, after] = [start, start + 5 * day];
    if (offset(before) === offset(after)) continue;
    while (after - before > minute) {
      const middle = Math.floor((before + after) / 2 / minute) * minute;
      if (offset(middle) === offset(start)) before = middle;
      else after = middle;
    }
    changes.push(after);
  }
  return changes;
}

/** A minute of a walk. */
interface Seen {
  readonly instant: number;
  readonly wall: number;
  /** The times that the clock showed or passed for the first time since the minute before. Empty: it has shown this one before. */
  readonly isNew: readonly number[];
}

export interface Walk {
  readonly from: number;
  readonly to: number;
  readonly minutes: readonly Seen[];
}

/** Walks from minute to minute. No clock may have been put back within a day before the walk. */
export function walk(wall: Wall, from: number, to: number): Walk {
  let reached = wall(from);
  const minutes: Seen[] = [];
  for (let instant = from + minute; instant <= to; instant += minute) {
    const shown = wall(instant);
    const isNew: number[] = [];
    for (; reached < shown; reached += minute) isNew.push(reached + minute);
    minutes.push({ instant, wall: shown, isNew });
  }
  return { from, to, minutes };
}

function asksFor(pattern: Pattern, wall: number): boolean {
  const shown = new Date(wall);
  if (!pattern.minutes.has(shown.getUTCMinutes()) || !pattern.hours.has(shown.getUTCHours())) return false;
  if (!pattern.months.has(shown.getUTCMonth() + 1)) return false;
  const [isDay, isWeekday] = [pattern.days.has(shown.getUTCDate()), pattern.weekdays.has(shown.getUTCDay())];
  return pattern.isEither ? isDay || isWeekday : isDay && isWeekday;
}

/** Answers all instants of a walk at which a pattern fires. */
export function firings({ minutes }: Walk, pattern: Pattern): number[] {
  return minutes
    .filter(({ wall, isNew }) =>
      pattern.isFixed ? isNew.some((passed) => asksFor(pattern, passed)) : asksFor(pattern, wall),
    )
    .map(({ instant }) => instant);
}
