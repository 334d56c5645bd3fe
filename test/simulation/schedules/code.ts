/** The code of a build: two workflows, and the schedules that it declares. */
import { type Contract, type Schedule, schedule, workflow } from "layover";
import * as z from "zod";
import type { Terms } from "./scenario.ts";

/** When the world begins. */
export const beginning = Date.UTC(2026, 0, 1, 12);

const contract = (name: string) =>
  workflow({ name, version: 1, input: z.object({ at: z.string() }), output: z.string() });
export const quick = contract("quick");
const slow = contract("slow");
export const workflows = [
  quick.handler(async ({ input, step }) => await step.run("write", () => input.at)),
  slow.handler(async ({ input, step }) => {
    await step.sleep("long", "50 minutes");
    return await step.run("write", () => input.at);
  }),
];

export function nameOf(which: number): string {
  return `schedule ${which}`;
}

export function declare(which: number, { calendar, jitter, overlap, catchUp, isSlow }: Terms): Schedule {
  const terms = {
    name: nameOf(which),
    start: (isSlow ? slow : quick) as Contract,
    input: ({ scheduledAt }: { readonly scheduledAt: Date }) => ({ at: scheduledAt.toISOString() }),
    overlap,
    catchUp,
    ...(jitter > 0 && { jitter: `${jitter} minutes` as const }),
  };
  if ("cron" in calendar) return schedule({ ...terms, cron: calendar.cron });
  if ("atMs" in calendar) return schedule({ ...terms, at: new Date(beginning + calendar.atMs) });
  return schedule({
    ...terms,
    every: `${calendar.everyMinutes} minutes`,
    startAt: new Date(beginning + calendar.startAtMs),
  });
}
