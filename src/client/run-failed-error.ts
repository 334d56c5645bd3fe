/** The error that a client throws instead of the result of a run that has none. */
import type { ErrorValue } from "../core/codec/error-value.ts";

/**
 * There is no result: the run failed, or was cancelled. Look at `cause.name` to tell why.
 *
 * @example if (error instanceof RunFailedError && error.status === "cancelled") return undefined;
 */
export class RunFailedError extends Error {
  override readonly name = "RunFailedError";
  readonly runId: string;
  readonly status: "failed" | "cancelled";
  declare readonly cause: ErrorValue;

  constructor(options: { runId: string; status: "failed" | "cancelled"; cause: ErrorValue }) {
    const { runId, status, cause } = options;
    const what = status === "failed" ? "failed" : "was cancelled";
    super(`the run ${runId} ${what}: ${cause.name}: ${cause.message}`, { cause });
    this.runId = runId;
    this.status = status;
  }
}
