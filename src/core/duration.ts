/**
 * Durations as people write them. A number is milliseconds; a text is one or more amounts, each with its
 * unit. Months and years are no units: how long they are depends on the day they begin.
 */

import { LayoverError } from "./errors.ts";
import { defaultLimits } from "./limits.ts";

type ShortUnit = "ms" | "s" | "m" | "min" | "h" | "d" | "w";
type LongUnit = "second" | "seconds" | "minute" | "minutes" | "hour" | "hours" | "day" | "days" | "week" | "weeks";
type Amount<Unit extends string> = `${number}${Unit}` | `${number} ${Unit}`;

/** `"30s"`, `"1 hour"`, `"30 days"`, `"500ms"`, `"1h 30m"`. */
export type DurationText = Amount<ShortUnit | LongUnit> | `${Amount<ShortUnit>} ${Amount<ShortUnit>}`;

/** A length of time: milliseconds, or a text with a unit. */
export type Duration = number | DurationText;

const units = [
  { ms: 604_800_000, names: ["w", "week", "weeks"] },
  { ms: 86_400_000, names: ["d", "day", "days"] },
  { ms: 3_600_000, names: ["h", "hour", "hours"] },
  { ms: 60_000, names: ["m", "min", "minute", "minutes"] },
  { ms: 1_000, names: ["s", "second", "seconds"] },
  { ms: 1, names: ["ms"] },
];
const msByUnit = new Map(units.flatMap(({ ms, names }) => names.map((name) => [name, ms])));

const part = String.raw`(\d+(?:\.\d+)?) ?([a-z]+)`;
const parts = new RegExp(part, "g");
const wholeText = new RegExp(`^${part}(?: ?${part})*$`);
const longestText = 50;

/**
 * How long `duration` is, in whole milliseconds; a begun millisecond counts. Takes any text, since options
 * also come over HTTP. `field` names the option, for the error.
 *
 * @throws LayoverError `invalid_duration`
 * @example toMilliseconds("1h 30m") // 5_400_000
 */
export function toMilliseconds(duration: number | string, options: { field?: string } = {}): number {
  const ms = typeof duration === "number" ? duration : parse(duration);
  if (Number.isNaN(ms)) throw invalidDuration(duration, "is not a duration", options.field);
  if (ms < 0) throw invalidDuration(duration, "is negative", options.field);
  if (ms > defaultLimits.durationMs) throw invalidDuration(duration, "is longer than 10 years", options.field);
  return Math.ceil(ms);
}

function parse(text: unknown): number {
  if (typeof text !== "string" || text.length > longestText || !wholeText.test(text)) return Number.NaN;
  let sum = 0;
  for (const [, amount, unit = ""] of text.matchAll(parts)) {
    sum += Number(amount) * (msByUnit.get(unit) ?? Number.NaN);
  }
  return Number(sum.toPrecision(15)); // "1.1s" is 1100.0000000000002 ms, and would be 1101
}

function invalidDuration(duration: unknown, why: string, field: string | undefined): LayoverError {
  const shown = typeof duration === "string" ? JSON.stringify(duration.slice(0, longestText)) : String(duration);
  return new LayoverError("invalid_duration", `${field === undefined ? "" : `${field}: `}${shown} ${why}`, {
    hint: 'Give milliseconds as a number, or a text such as "500ms", "30s", "1h 30m" or "3 days", up to 10 years.',
    details: { ...(field !== undefined && { field }), maxMs: defaultLimits.durationMs },
  });
}

/**
 * A duration for people, in its two largest units, cut off below them: "3 days", "1 h 5 min", "250 ms".
 * What it gives, {@link toMilliseconds} reads.
 */
export function formatDuration(ms: number): string {
  const days = Math.floor(ms / 86_400_000);
  const amounts = [
    { amount: days, unit: days === 1 ? "day" : "days" },
    { amount: Math.floor(ms / 3_600_000) % 24, unit: "h" },
    { amount: Math.floor(ms / 60_000) % 60, unit: "min" },
    { amount: Math.floor(ms / 1_000) % 60, unit: "s" },
    { amount: Math.floor(ms) % 1_000, unit: "ms" },
  ];
  const first = amounts.findIndex(({ amount }) => amount > 0);
  if (first === -1) return "0 ms";
  return amounts
    .slice(first, first + 2)
    .filter(({ amount }) => amount > 0)
    .map(({ amount, unit }) => `${amount} ${unit}`)
    .join(" ");
}
