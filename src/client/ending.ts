/** A run's ending as its result, or as the error that says why there is none. */

import { TimeoutError } from "../core/contract/user-errors.ts";
import { type Duration, toMilliseconds } from "../core/duration.ts";
import { LayoverError } from "../core/errors.ts";
import { RunFailedError } from "./run-failed-error.ts";
import type { RunEnding } from "./run-view.ts";
import { Unreadable } from "./unreadable.ts";

/** @throws RunFailedError, TimeoutError, LayoverError `undecodable_value` */
export function resultOf(ending: RunEnding, wait: Duration | undefined): unknown {
  const { runId, status, error = { name: "Error", message: "no reason was stored" } } = ending;
  if (ending.result instanceof Unreadable) {
    throw new LayoverError(
      "undecodable_value",
      `the result of the run ${runId} cannot be read: ${ending.result.reason}`,
      {
        hint: "Deploy the version of layover that wrote it, or a newer one.",
      },
    );
  }
  if (status === "completed") return ending.result;
  if (status === "failed" || status === "cancelled") throw new RunFailedError({ runId, status, cause: error });
  throw new TimeoutError({ kind: "run", wait: ending.workflow, timeoutMs: toMilliseconds(wait ?? 0) });
}
