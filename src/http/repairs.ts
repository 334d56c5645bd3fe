/** What repairs a run: retry, restart and fork. Each is a POST of its own, and may be sent again with its `callId`. */

import { checkRunId } from "../client/run-id.ts";
import type { Contract } from "../core/contract/contract.ts";
import type { LayoverError } from "../core/errors.ts";
import type { Contracts } from "./contracts.ts";
import type { Descriptions } from "./description.ts";
import {
  anyValue,
  type Body,
  invalidField,
  isPlainObject,
  optionalFlag,
  optionalNumber,
  optionalText,
  readFields,
} from "./fields.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { respondTo } from "./respond.ts";
import type { Route, Visit } from "./route.ts";

const asked = { reason: optionalText, by: optionalText, callId: optionalText, epoch: optionalNumber };
const retryFields = { ...asked, results: optionalResults, sensitive: optionalFlag, signal: optionalSignal };
const restartFields = { ...asked, from: optionalText, input: anyValue, dryRun: optionalFlag };
const forkFields = {
  epoch: optionalNumber,
  from: optionalText,
  input: anyValue,
  id: optionalText,
  newRunId: optionalText,
};

export function repairRoutes(contracts: Contracts, maxBytes: number): readonly Route[] {
  return [
    {
      method: "POST",
      path: "/v1/runs/:id/retry",
      scope: "admin",
      answer: async (visit) => {
        const { client, request } = visit;
        const { signal, ...options } = await readFields(request, maxBytes, retryFields);
        const correction = signal && { signal, contract: await contractOf(visit, contracts) };
        return respondTo(request, await client.retry(visit.param("id"), { ...options, ...correction }));
      },
    },
    {
      method: "POST",
      path: "/v1/runs/:id/restart",
      scope: "admin",
      answer: async (visit) => {
        const { client, request } = visit;
        const runId = visit.param("id");
        const { input, dryRun, ...asked } = await readFields(request, maxBytes, restartFields);
        const options = { ...asked, ...(await newInput(input, visit, contracts)) };
        return respondTo(request, await (dryRun ? client.planRestart(runId, options) : client.restart(runId, options)));
      },
    },
    {
      method: "POST",
      path: "/v1/runs/:id/fork",
      scope: "admin",
      answer: async (visit) => {
        const { client, request } = visit;
        const { input, newRunId, ...options } = await readFields(request, maxBytes, forkFields);
        const key = idempotencyKeyOf(request.headers); // the new run's id: by that the same request again is known
        const forked = await client.fork(visit.param("id"), {
          ...options,
          newRunId: newRunId ?? (key && checkRunId(key, "Idempotency-Key")),
          ...(await newInput(input, visit, contracts)),
        });
        return respondTo(request, forked, { status: 201, headers: { location: `../${forked.runId}` } });
      },
    },
  ];
}

/** A signal that is sent to the run in the same act. */
export function optionalSignal(
  body: Body,
  field: string,
): { readonly name: string; readonly payload: unknown } | undefined {
  const signal = body[field];
  if (signal === undefined) return undefined;
  if (!isPlainObject(signal)) throw notASignal();
  const { name, payload, ...more } = signal;
  if (typeof name !== "string" || Object.keys(more).length > 0) throw notASignal();
  return { name, payload };
}

function notASignal(): LayoverError {
  return invalidField("signal", "is no signal", 'Write it as { "name": "address", "payload": { "city": "Turin" } }.');
}

async function contractOf({ client, param }: Visit, contracts: Contracts): Promise<Contract> {
  const { workflow, version } = await client.get(param("id"));
  return contracts.closest(workflow, version);
}

/** Another input, and the contract of the run that it is for. */
async function newInput(
  input: unknown,
  visit: Visit,
  contracts: Contracts,
): Promise<{ readonly input: unknown; readonly contract: Contract } | undefined> {
  return input === undefined ? undefined : { input, contract: await contractOf(visit, contracts) };
}

export function optionalResults(body: Body, field: string): Readonly<Record<string, unknown>> | undefined {
  const results = body[field] ?? undefined;
  if (results === undefined || isPlainObject(results)) return results;
  throw invalidField(field, "is not an object of results by place", 'Write it as { "charge": { "id": "ch_1" } }.');
}

export function repairDescriptions(): Descriptions {
  const refusals = ["unknown_run", "not_applicable", "at_work", "epoch_changed", "invalid_name"] as const;
  const cuts = ["unknown_step", "compensated", "would_repeat", "invalid_input", "unknown_workflow"] as const;
  const storing = ["value_too_large", "unstorable_value"] as const;
  return {
    "POST /v1/runs/:id/retry": {
      id: "retryRun",
      does: "Lets a failed run go on from where it failed.",
      body: retryFields,
      answers: { 200: "Repaired" },
      problems: [
        ...refusals,
        ...cuts,
        ...storing,
        "result_needed",
        "child_failed",
        "unknown_signal",
        "invalid_payload",
        "signal_closed",
        "too_many_signals",
        "too_many_operations",
      ],
    },
    "POST /v1/runs/:id/restart": {
      id: "restartRun",
      does: "Begins a run anew, or from a step. With `dryRun` it only tells what that would drop.",
      body: restartFields,
      answers: { 200: "Restarted" },
      problems: [...refusals, ...cuts, ...storing, "too_many_operations"],
    },
    "POST /v1/runs/:id/fork": {
      id: "forkRun",
      does: "Starts a new run as a copy of a run, from its start or from a step.",
      takesKey: true,
      body: forkFields,
      answers: { 201: "Forked" },
      problems: [...refusals, ...cuts, ...storing, "input_conflict"],
    },
  };
}
