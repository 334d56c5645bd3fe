/** Reads a page of a run's history for somebody who takes it elsewhere. The database keeps who did so. */
import { isMarkedSensitive } from "../../core/codec/stored-value.ts";
import { LayoverError } from "../../core/errors.ts";
import type { ReplayPage } from "../../postgres/wire-replay.ts";
import { type OperationOptions, operationCall } from "../operations.ts";
import { hiddenReason } from "../unreadable.ts";
import { type ClientContext, found } from "./client-context.ts";
import { translated } from "./failure.ts";

interface ExportOptions extends OperationOptions {
  readonly after?: number | undefined;
  /** Whether sensitive values are there. Default: false. */
  readonly withSecrets?: boolean | undefined;
}

/** Puts in the place of each sensitive text one that says why its value is not there. Who reads it is told that. */
function withoutSecrets<Part>(part: Part): Part {
  return JSON.parse(JSON.stringify(part), (_, each: unknown) =>
    typeof each === "string" && isMarkedSensitive(each) ? `!${hiddenReason}` : each,
  );
}

/** @throws LayoverError `unknown_run`, `invalid_request`, `too_many_operations` */
export async function exportPage(
  { calls }: ClientContext,
  runId: string,
  { after = 0, withSecrets = false, ...options }: ExportOptions,
): Promise<ReplayPage> {
  const call = { ...operationCall(runId, options), after };
  const answer = found(await translated(() => calls.exportRun(call)), call);
  if (answer.outcome === "read") return withSecrets ? answer : withoutSecrets(answer);
  throw new LayoverError("invalid_request", "a further page of an export names the callId of its first page", {
    hint: "Ask for the first page, and then for the others with the same callId.",
    details: { field: "callId" },
  });
}
