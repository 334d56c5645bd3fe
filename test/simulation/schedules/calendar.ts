/**
 * The calendar of the reference. It walks from minute to minute and knows nothing of Postgres. It reads only what scenarios
 * draw: patterns with a number, `*` or a step for the minute and the hour, in UTC; `every` with a start; `at`.
 */
import { createHash } from "node:crypto";
import type { ScheduleDefinition } from "../../../src/core/contract/schedule.ts";

export const minuteMs = 60_000;
/** The patterns of scenarios fire at least once a day. */
const longestMs = 2 * 86_400_000;

/** Answers the first instant after `after`. Null: none is left. */
export function nextInstant({ cron, everyMs, startAt = 0, at }: ScheduleDefinition, after: number): number | null {
  if (at !== undefined) return at > after ? at : null;
  if (everyMs !== undefined)
    return after < startAt ? startAt : startAt + (Math.floor((after - startAt) / everyMs) + 1) * everyMs;
  const [minute = "", hour = ""] = (cron ?? "").split(" ");
  for (let ms = (Math.floor(after / minuteMs) + 1) * minuteMs; ms <= after + longestMs; ms += minuteMs) {
    const time = new Date(ms);
    if (fits(minute, time.getUTCMinutes()) && fits(hour, time.getUTCHours())) return ms;
  }
  throw new Error(`${cron} does not fire`);
}

/** Answers the instants from one to another. Both of them count. */
export function instantsFrom(definition: ScheduleDefinition, first: number, until: number): readonly number[] {
  const instants: number[] = [];
  for (let at: number | null = first; at !== null && (at === first || at <= until); at = nextInstant(definition, at))
    instants.push(at);
  return instants;
}

/** Answers by how much the firing at an instant is put off. It never reaches the next instant. */
export function jitterOf(name: string, definition: ScheduleDefinition, at: number): number {
  const { jitterMs = 0 } = definition;
  if (jitterMs === 0) return 0;
  const next = nextInstant(definition, at);
  const mostMs = next === null ? jitterMs : Math.min(jitterMs, next - at - minuteMs);
  const drawn = Number.parseInt(createHash("md5").update(`${name} ${at}`).digest("hex").slice(0, 7), 16);
  return (drawn % (Math.floor(mostMs / minuteMs) + 1)) * minuteMs;
}

function fits(field: string, value: number): boolean {
  return field === "*" || (field.startsWith("*/") ? value % Number(field.slice(2)) === 0 : Number(field) === value);
}
