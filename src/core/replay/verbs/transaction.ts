/** `step.transaction`: a step whose writes are committed together with its record. */
import { resolveRetry } from "../../contract/retry.ts";
import type { StepContext, StepOptions } from "../../contract/step.ts";
import { toMilliseconds } from "../../duration.ts";
import { LayoverError } from "../../errors.ts";
import type { TransactionClient } from "../../ports.ts";
import { placeName } from "../demand.ts";
import { checkFunction, checkOptions } from "./step-checks.ts";
import { keyPart } from "./step-key.ts";
import type { StepScope } from "./step-scope.ts";

export async function transaction<Result>(
  scope: StepScope,
  name: string,
  body: (database: TransactionClient, context: StepContext) => Promise<Result>,
  options: Omit<StepOptions, "semantics"> = {},
): Promise<Result> {
  const { execution } = scope;
  const { stepTimeoutMs, digest } = scope.options;
  const what = `transaction ${JSON.stringify(name)}`;
  checkFunction(`the body of ${what}`, body, "(db) => db.query(text, values)");
  checkOptions(what, options, ["retry", "timeout", "key", "sensitiveKey", "sensitive"]);
  const { retry, timeout, key, sensitiveKey: isSensitive, sensitive = false } = options;
  const at = scope.place(name, keyPart(what, { key, isSensitive, digest }));
  const result = await execution.demand(at, {
    kind: "step",
    isTransaction: true,
    ...(sensitive && { isSensitive: true }),
    body: (context, database) => {
      if (database === undefined) throw unavailable(placeName(at));
      return execution.bodies.call(placeName(at), () => body(database, context));
    },
    retry: resolveRetry(retry),
    timeoutMs: timeout === undefined ? stepTimeoutMs : toMilliseconds(timeout, { field: "timeout" }),
  });
  return result as Result; // the body's own result, through the codec
}

function unavailable(place: string): LayoverError {
  return new LayoverError(
    "transactions_unavailable",
    `${place} is a transaction, and this database connection has none`,
    {
      hint: "Use pg(new Pool(…)) of layover/pg, neon(…) of layover/neon, or pglite(…) of layover/pglite.",
    },
  );
}
