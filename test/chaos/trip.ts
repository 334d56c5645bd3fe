/** A workflow of one step, which errands invoke. The trace of its step outside is kept with those of its errand. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type Workflow, workflow } from "layover";
import * as z from "zod";
import type { Happen } from "./effects.ts";

export const trip = workflow({
  name: "trip",
  version: 1,
  input: z.object({ errandId: z.string() }),
  output: z.string(),
});

/** The path under which the errand has its result, and the name of its own step. */
export const tripPath = "trip";
const longestBodyMs = 200;
/** The step is tried until it succeeds: the database to which its body writes is stopped and crashed, too. */
const retry = { maxAttempts: 10_000, delay: "100ms", maxDelay: "500ms" } as const;

/** `onBegin` is told of each body before anything else. */
export function tripWorkflow(happen: Happen, onBegin: (runId: string, path: string) => void): Workflow {
  return trip.handler(async ({ input: { errandId: runId }, step }) => {
    const path = tripPath;
    return await step.run(
      path,
      async ({ attempt, idempotencyKey }) => {
        const value = `${path} ${randomUUID()}`;
        onBegin(runId, path);
        await delay(Math.random() * longestBodyMs);
        await happen({ runId, path, attempt, idempotencyKey, pid: process.pid, value, seen: [], token: null });
        return value;
      },
      { retry },
    );
  });
}
