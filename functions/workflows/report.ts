/** A report, written each night by a schedule. */
import { schedule, workflow } from "layover";
import * as z from "zod/mini";
import { perform } from "./effects.ts";

export const report = workflow({
  name: "report",
  version: 1,
  input: z.object({ day: z.string() }),
  output: z.string(),
});

export const reportWorkflow = report.handler(async ({ input, step }) => {
  return await step.run("write", ({ idempotencyKey }) => perform("report", { idempotencyKey, details: input }));
});

export const nightly = schedule({
  name: "nightly",
  cron: "0 3 * * *",
  timezone: "Europe/Berlin",
  start: report,
  input: ({ scheduledAt }) => ({ day: scheduledAt.toISOString().slice(0, 10) }),
});
