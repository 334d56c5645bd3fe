/** Reads a page of a run's history for somebody who takes it elsewhere. The database keeps who did so. */
import { LayoverError } from "../../core/errors.ts";
import type { ReplayPage } from "../../postgres/wire-replay.ts";
import { type OperationOptions, operationCall } from "../operations.ts";
import { type ClientContext, found } from "./client-context.ts";
import { translated } from "./failure.ts";

/** @throws LayoverError `unknown_run`, `invalid_request`, `too_many_operations` */
export async function exportPage(
  { calls }: ClientContext,
  runId: string,
  { after = 0, ...options }: OperationOptions & { readonly after?: number | undefined },
): Promise<ReplayPage> {
  const call = { ...operationCall(runId, options), after };
  const answer = found(await translated(() => calls.exportRun(call)), call);
  if (answer.outcome === "read") return answer;
  throw new LayoverError("invalid_request", "a further page of an export names the callId of its first page", {
    hint: "Ask for the first page, and then for the others with the same callId.",
    details: { field: "callId" },
  });
}
