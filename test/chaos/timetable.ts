/**
 * The schedules of the campaign, and the workflow whose runs they start. Each of them fires every minute, and the one after
 * the other ten seconds later, so that something fires whatever goes wrong, and when.
 */
import { randomUUID } from "node:crypto";
import { type Schedule, schedule, type Workflow, workflow } from "layover";
import * as z from "zod";
import type { Happen } from "./effects.ts";

const chime = workflow({
  name: "chime",
  version: 1,
  input: z.object({ at: z.string(), isLong: z.boolean() }),
  output: z.object({ at: z.string(), value: z.string() }),
});

const path = "ring";
/** It is over after the next instant, so that a firing overlaps with it. */
const long = "80s";
const first = Date.UTC(2026, 0, 1);
const apartMs = 10_000;
/** What the bodies write to fails as well, so they are tried until it is there. */
const retry = { maxAttempts: 10_000, delay: "100ms", maxDelay: "500ms" } as const;

const terms = [
  { name: "long, left out", isLong: true },
  { name: "long, beside each other", isLong: true, overlap: "allow", catchUp: "all" },
  { name: "the last one made up for", isLong: false, catchUp: "latest" },
  { name: "all made up for", isLong: false, overlap: "allow", catchUp: "all" },
  { name: "none made up for", isLong: false, catchUp: "none" },
  { name: "long, the last one beside", isLong: true, overlap: "allow", catchUp: "latest" },
] as const;

export const timetable: readonly Schedule[] = terms.map(({ name, isLong, ...more }, index) =>
  schedule({
    name,
    every: "1 minute",
    startAt: new Date(first + index * apartMs),
    start: chime,
    input: ({ scheduledAt }) => ({ at: scheduledAt.toISOString(), isLong }),
    ...more,
  }),
);

/** `onBegin` is told of each body before anything else. */
export function chimeWorkflow(happen: Happen, onBegin: (runId: string, path: string) => void): Workflow {
  return chime.handler(async ({ input, step, run }) => {
    if (input.isLong) await step.sleep("long", long);
    const value = await step.run(
      path,
      async ({ attempt, idempotencyKey }) => {
        const value = `${input.at} ${randomUUID()}`;
        onBegin(run.runId, path);
        const { pid } = process;
        await happen({ runId: run.runId, path, attempt, idempotencyKey, pid, value, seen: [], token: null });
        return value;
      },
      { retry },
    );
    return { at: input.at, value };
  });
}
