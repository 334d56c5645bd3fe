/** Reads the signals that a claim offers. */

import { toErrorValue } from "../../core/codec/error-value.ts";
import { fromStored, toStored, toStoredError } from "../../core/codec/stored-value.ts";
import { parse } from "../../core/contract/schema.ts";
import { isSensitive } from "../../core/contract/sensitive.ts";
import type { OfferedSignal } from "../../core/replay/offers.ts";
import type { WireSignal } from "../../postgres/wire.ts";
import type { LoadedRun } from "./loaded-run.ts";

/**
 * Reads signals, and has the schema check those that were sent from SQL: nobody has checked them before. If the schema
 * refuses one, its wait throws.
 */
export async function offeredSignals(
  { workflow }: LoadedRun,
  signals: readonly WireSignal[],
): Promise<readonly OfferedSignal[]> {
  return Promise.all(
    signals.map(async ({ number, name, payload, isParsed, receivedAt }) => {
      const schema = workflow.contract.signals[name];
      if (isParsed || schema === undefined) return { number, name, payload, isFailure: false, receivedAt };
      const terms = {
        what: `the payload of signal "${name}"`,
        isSensitive: isSensitive(workflow.contract, `signals.${name}`),
      };
      try {
        const value = await parse(schema, fromStored(payload), { code: "invalid_payload", ...terms });
        return { number, name, payload: toStored(value, terms), isFailure: false, receivedAt };
      } catch (error) {
        return { number, name, payload: toStoredError(toErrorValue(error)), isFailure: true, receivedAt };
      }
    }),
  );
}
