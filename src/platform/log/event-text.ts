/** Makes the texts that an operator reads of an event. It uses only JavaScript itself, so it runs on every host. */
import type { LayoverEvent } from "../../engine/events.ts";

/**
 * The level of an event in the log of an operator. Undefined: nobody has to read it, or `onLog` gets it (what handlers
 * log, and their mistakes).
 */
export function levelOf(event: LayoverEvent): "error" | "warn" | "info" | undefined {
  switch (event.kind) {
    case "run_failed":
    case "run_blocked":
    case "error":
    case "delivery_refused":
    case "schedule_refused":
    case "schedule_stopped":
    case "schedules_held":
      return "error";
    case "schedule_skipped":
      return event.inRow >= 3 || event.cause === "refused" || event.cause === "conflict" ? "warn" : undefined;
    case "step_exhausted":
    case "run_held_up":
    case "run_slowed":
    case "lease_lost":
    case "run_unclaimed":
    case "sweep_found":
    case "binding_missing":
    case "contract_differs":
    case "webhook_unverified":
      return "warn";
    case "delivery_ignored":
      return "info";
    case "dispatch_given_up":
      return event.blocked === undefined ? "warn" : "error";
    default:
      return undefined;
  }
}

/** Makes a sentence without the run's name and id. They stand beside the sentence. */
export function messageOf(event: LayoverEvent): string {
  switch (event.kind) {
    case "run_failed":
      return `the run failed: ${sentence(event.error)}`;
    case "run_blocked":
      return `the run is blocked: ${event.reason}`;
    case "contract_differs":
      return `the contract of version ${event.version} was changed after the run was started with it. Raise the version where a schema changes`;
    case "run_held_up":
      return `the run is held up, and is tried again: ${event.reason}`;
    case "run_slowed":
      return `the run continues as new without waiting, so its next lap begins at ${event.until.toISOString()}`;
    case "step_exhausted":
      return `step ${event.step} failed for good, at attempt ${event.attempt}: ${sentence(event.error)}`;
    case "lease_lost":
      return `${workOf(event)} was not finished within its lease: its process died, hangs, or lost its way to the database`;
    case "run_unclaimed":
      return `${workOf(event)} was dispatched ${event.dispatches} times, and nobody has claimed it. layover doctor finds out why`;
    case "dispatch_given_up":
      return `a dispatch was given up; the run is ${event.status}, and its alarm ${event.dueAt === undefined ? "is not needed" : "stands"}`;
    case "webhook_unverified":
      return `a request to the webhook ${event.webhook} was refused: ${event.reason}`;
    case "delivery_refused":
      return `the delivery ${event.delivery} to the webhook ${event.webhook} is ${event.outcome}: ${event.reason}. After the fix: layover webhooks replay`;
    case "delivery_ignored":
      return `the delivery ${event.delivery} to the webhook ${event.webhook} was ignored: ${event.reason}`;
    case "schedule_skipped":
      return `the schedule ${event.schedule} started no run, ${event.inRow} times in a row: ${whyOfSkip(event)}`;
    case "schedule_refused":
      return `the schedule ${event.schedule} was not registered: ${event.reason}`;
    case "schedule_stopped":
      return `the schedule ${event.schedule} fires no more: ${event.reason}`;
    case "schedules_held":
    case "sweep_found":
    case "binding_missing":
    case "handler_logged":
    case "handler_mistaken":
      return event.message;
    case "error":
      return `error while ${event.doing}: ${messages(event.error).join(": ")}`;
    default:
      return event.kind.replace("_", " ");
  }
}

/**
 * Makes a key that is the same for events with one cause, whatever runs they are about. One cause may bring thousands.
 */
export function keyOf(event: LayoverEvent): string {
  const parts: unknown[] = [event.kind];
  if (event.kind === "error") parts.push(...messages(event.error).map(withoutNumbers));
  if ("workflow" in event) parts.push(event.workflow, "version" in event ? event.version : undefined);
  if ("step" in event) parts.push(event.step?.replaceAll(/\[[^\]]*\]|#\d+$/g, ""));
  if ("error" in event && event.kind !== "error") parts.push(event.code, event.error.name);
  if (event.kind === "binding_missing") parts.push(event.message);
  if ("schedule" in event) parts.push(event.schedule);
  if ("webhook" in event) parts.push(event.webhook, withoutNumbers(event.reason));
  return parts.join("\n");
}

/** The messages of the error and of its causes. */
export function messages(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)];
  const { message, cause } = error;
  const causes = cause === undefined ? [] : messages(cause);
  return causes[0] === message ? causes : [message, ...causes];
}

function whyOfSkip({ cause, reason }: Extract<LayoverEvent, { readonly kind: "schedule_skipped" }>): string {
  switch (cause) {
    case "overlap":
      return "a run of it is not over";
    case "missed":
      return "it was fired too late";
    default:
      return reason ?? cause;
  }
}

function workOf({ step }: { readonly step?: string | undefined }): string {
  return step === undefined ? "a turn" : `step ${step}`;
}

function sentence({ name, message }: { readonly name: string; readonly message: string }): string {
  return message === "" ? name : `${name}: ${message}`;
}

function withoutNumbers(text: string): string {
  return text.replaceAll(/[\da-f]{8}-[\da-f-]{27}|\d+/g, "#");
}
