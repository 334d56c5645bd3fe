/** Which runs a list shows. */

import { checkTags } from "../core/contract/tags.ts";
import { LayoverError } from "../core/errors.ts";
import { checkName } from "../core/names.ts";
import type { WireFilter } from "../postgres/wire-views.ts";
import { knownRunId } from "./run-id.ts";
import type { RunStatus } from "./run-view.ts";
import { checkWhole } from "./whole-number.ts";

/** Which runs. All that is given must hold. An instant is a Date, or epoch milliseconds. */
export interface RunFilter {
  readonly workflow?: string | undefined;
  /** Only together with `workflow`. */
  readonly version?: number | undefined;
  readonly status?: RunStatus | undefined;
  /** All of these. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Our id of the run that started them. */
  readonly parent?: string | undefined;
  /** Created at this instant or later. */
  readonly createdFrom?: Date | number | undefined;
  /** Created before this instant. */
  readonly createdBefore?: Date | number | undefined;
  /** Ended at this instant or later. */
  readonly endedFrom?: Date | number | undefined;
  /** Ended before this instant. */
  readonly endedBefore?: Date | number | undefined;
}

/** The end of the year 9999: later years have another form in texts. */
const lastInstant = Date.UTC(10_000, 0) - 1;

/** @throws LayoverError `invalid_request`, `invalid_name`, `unknown_run` */
export function filterCall({ workflow, version, status, tags, parent, ...times }: RunFilter): WireFilter {
  return {
    ...(workflow !== undefined && { workflow: checkName(workflow, "workflow") }),
    ...(version !== undefined && { version: checkVersion(version, workflow) }),
    ...(status !== undefined && { status }),
    ...(tags !== undefined && { tags: checkTags(tags) }),
    ...(parent !== undefined && { parent: knownRunId(parent) }),
    ...instant(times, "createdFrom"),
    ...instant(times, "createdBefore"),
    ...instant(times, "endedFrom"),
    ...instant(times, "endedBefore"),
  };
}

function checkVersion(version: number, workflow: string | undefined): number {
  checkWhole("version", version, "Give the version as the contract has it.", [1]);
  if (workflow !== undefined) return version;
  throw new LayoverError("invalid_request", "a version is given, and no workflow", {
    hint: "Say of which workflow it is the version.",
    details: { field: "version" },
  });
}

type Times = Pick<RunFilter, "createdFrom" | "createdBefore" | "endedFrom" | "endedBefore">;

function instant(times: Times, field: keyof Times): { readonly [each in keyof Times]: number } {
  const value = times[field];
  if (value === undefined) return {};
  const ms = Number(value);
  if (ms >= 0 && ms <= lastInstant) return { [field]: Math.ceil(ms) };
  throw new LayoverError("invalid_request", `${field}: ${String(value)} is no instant after 1970`, {
    hint: "Give a Date, or epoch milliseconds.",
    details: { field },
  });
}
