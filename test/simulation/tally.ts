/** What many seeds came to, in sum. */
import { fates, noneMet } from "./faults.ts";
import type { Report } from "./report.ts";

export type Tally = Omit<Report, "wrongs" | "drain"> & { readonly seeds: number; readonly failed: number };

export const nothing: Tally = {
  seeds: 0,
  failed: 0,
  events: 0,
  statements: 0,
  waits: 0,
  deaths: 0,
  time: 0,
  faults: noneMet(),
};

export function tallied({ wrongs, drain: _, ...report }: Report): Tally {
  return { ...report, seeds: 1, failed: wrongs.length === 0 ? 0 : 1 };
}

export function sum(one: Tally, other: Tally): Tally {
  const faults = { ...one.faults };
  for (const fate of fates) faults[fate] += other.faults[fate];
  return {
    seeds: one.seeds + other.seeds,
    failed: one.failed + other.failed,
    events: one.events + other.events,
    statements: one.statements + other.statements,
    waits: one.waits + other.waits,
    deaths: one.deaths + other.deaths,
    time: one.time + other.time,
    faults,
  };
}

export function describeTally({ seeds, failed, events, statements, waits, deaths, time, faults }: Tally): string {
  const met = Object.entries(faults).map(([fate, count]) => `${fate} ${count}`);
  return [
    `${seeds} seeds, ${failed} failed: ${events} events, ${statements} statements, ${Math.round(time / 86_400_000)} days of virtual time`,
    `${waits} waits for a lock, ${deaths} processes died; of the calls: ${met.join(", ")}`,
  ].join("\n");
}
