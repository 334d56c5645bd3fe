/** Signals, to a run named by our id or by the user's own. */

import type { Client } from "../client/over-postgres/client.ts";
import { unknownRun } from "../client/run-id.ts";
import type { Contract } from "../core/contract/contract.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { Contracts } from "./contracts.ts";
import type { Descriptions } from "./description.ts";
import { anyValue, optionalText, readFields } from "./fields.ts";
import { respondTo } from "./respond.ts";
import type { Route } from "./route.ts";

const signalFields = { payload: anyValue, dedupeId: optionalText, signalId: optionalText, workflow: optionalText };

export function signalRoutes(contracts: Contracts, maxBytes: number): readonly Route[] {
  return [
    {
      method: "POST",
      path: "/v1/runs/:id/signals/:signal",
      scope: "signal",
      answer: async (visit) => {
        const { client, request } = visit;
        const { payload, workflow, ...options } = await readFields(request, maxBytes, signalFields);
        const runId = visit.param("id");
        const contract = await contractOf(client, contracts, runId, workflow);
        const receipt = await client.signal(runId, visit.param("signal"), payload, { ...options, contract });
        return respondTo(request, receipt, { status: 202 });
      },
    },
    {
      method: "POST",
      path: "/v1/workflows/:name/ids/:id/signals/:signal",
      scope: "signal",
      answer: async (visit) => {
        const name = visit.param("name");
        const newest = contracts.newest(name);
        const { client, request } = visit;
        const { payload, workflow: _, ...options } = await readFields(request, maxBytes, signalFields);
        const id = visit.param("id");
        const run = contracts.hasOneVersion(name) ? { id } : (await client.runById(newest, id)).runId;
        const contract = typeof run === "string" ? await contractOf(client, contracts, run, name) : newest;
        const receipt = await client.signal(run, visit.param("signal"), payload, { ...options, contract });
        return respondTo(request, receipt, { status: 202 });
      },
    },
  ];
}

/**
 * Finds the contract by which a signal to this run is checked. A caller may name the workflow: if the run belongs to
 * another one, the answer is `unknown_run`. If that workflow has one version only, the database is not asked here, since
 * `send_signal` compares the workflow as well.
 */
async function contractOf(
  client: Client,
  contracts: Contracts,
  runId: string,
  expected: string | undefined,
): Promise<Contract> {
  if (expected !== undefined && contracts.hasOneVersion(expected)) return contracts.newest(expected);
  const { workflow, version } = await client.waitForEnd(runId, { wait: 0 });
  if (expected !== undefined && expected !== workflow) throw unknownRun({ runId });
  return contracts.closest(workflow, version);
}

export const signalProblems = [
  "unknown_signal",
  "invalid_payload",
  "value_too_large",
  "unstorable_value",
  "run_over",
  "signal_closed",
  "too_many_signals",
  "invalid_name",
] as const satisfies readonly ErrorCode[];

export function signalDescriptions(): Descriptions {
  return {
    "POST /v1/runs/:id/signals/:signal": {
      id: "signal",
      does: "Sends a signal to a run. It is kept until the run takes it.",
      body: signalFields,
      answers: { 202: "Signalled" },
      problems: ["unknown_run", "unknown_workflow", ...signalProblems],
    },
    "POST /v1/workflows/:name/ids/:id/signals/:signal": {
      id: "signalById",
      does: "Sends a signal to the run that has this id of yours. It is kept until the run takes it.",
      body: signalFields,
      answers: { 202: "Signalled" },
      problems: ["unknown_run", "unknown_workflow", ...signalProblems],
    },
  };
}
