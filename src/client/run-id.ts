/** Our ids of runs: uuid v7, so that they sort by the time they were made. And ids of calls, which are any uuid. */
import { LayoverError } from "../core/errors.ts";
import type { RunKey } from "../postgres/wire-verbs.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Checks the id of a run that should exist. A text that cannot be an id is refused like an unknown one, without SQL.
 *
 * @throws LayoverError `unknown_run`
 */
export function knownRunId(runId: string): string {
  if (uuid.test(runId)) return runId.toLowerCase();
  throw unknownRun({ runId });
}

export function isUuid(text: string): boolean {
  return uuid.test(text);
}

/** Checks the id of a run that is to be started. `field` is where it was given. @throws LayoverError `invalid_request` */
export function checkRunId(runId: string, field = "runId"): string {
  if (uuid.test(runId) && runId[14] === "7") return runId.toLowerCase();
  throw new LayoverError("invalid_request", `the ${field} is not a uuid of version 7`, {
    hint: 'Make it with `v7()` of the package "uuid", or leave it out. An id of your own goes under `id`.',
    details: { field },
  });
}

/** @throws LayoverError `invalid_request` */
export function checkSignalId(signalId: string): string {
  if (uuid.test(signalId)) return signalId;
  throw new LayoverError("invalid_request", "the signalId is not a uuid", {
    hint: "Make it with `crypto.randomUUID()`, or leave it out. An id of your own goes under `dedupeId`.",
    details: { field: "signalId" },
  });
}

export function unknownRun(key: RunKey): LayoverError {
  const longestShown = 60;
  const shown = "runId" in key ? key.runId : key.id;
  const what = `${JSON.stringify(shown.slice(0, longestShown))}${shown.length > longestShown ? "…" : ""}`;
  const message =
    "runId" in key
      ? `there is no run ${what}`
      : `workflow ${JSON.stringify(key.workflow)} has no run with the id ${what}`;
  return new LayoverError("unknown_run", message, {
    hint: "Look at the id. Runs are deleted some time after their end.",
  });
}
