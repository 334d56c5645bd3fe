/** The undos of a run, as its history and its error tell of them. */
import type { ErrorValue } from "../core/codec/error-value.ts";
import { isRecord } from "../core/codec/tag-checks.ts";
import { undoPrefix } from "../core/replay/undos.ts";

/** The path of the step that this step undoes. Undefined: it undoes none. */
export function undonePath(path: string): string | undefined {
  return path.startsWith(undoPrefix) ? path.slice(undoPrefix.length) : undefined;
}

interface FailedUndo {
  /** The name of the step that is not undone. */
  readonly step: string;
  readonly error: ErrorValue;
}

/** Reads the first undos that failed for good from the error of their run. */
export function failedUndosIn({ data }: Pick<ErrorValue, "data">): readonly FailedUndo[] {
  const compensation = isRecord(data) ? data["compensation"] : undefined;
  const failed = isRecord(compensation) ? compensation["failed"] : undefined;
  return Array.isArray(failed) ? failed.filter(isFailedUndo) : [];
}

function isFailedUndo(value: unknown): value is FailedUndo {
  return isRecord(value) && typeof value["step"] === "string" && isErrorValue(value["error"]);
}

export function isErrorValue(value: unknown): value is ErrorValue {
  return isRecord(value) && typeof value["name"] === "string" && typeof value["message"] === "string";
}
