/** Starting runs: by a start, or by a signal that starts its run unless there is one. */

import type { StartOptions } from "../client/starting.ts";
import type { Contract } from "../core/contract/contract.ts";
import { checkName } from "../core/names.ts";
import type { Contracts } from "./contracts.ts";
import type { Descriptions } from "./description.ts";
import {
  anyValue,
  optionalDuration,
  optionalInstant,
  optionalNumber,
  optionalText,
  optionalTexts,
  readFields,
  type ValuesOf,
} from "./fields.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { respondTo } from "./respond.ts";
import type { Route, Visit } from "./route.ts";
import { endingOf, waitOf } from "./runs.ts";
import { signalProblems } from "./signals.ts";
import { shownTo } from "./stacks.ts";

export function startRoutes(contracts: Contracts, maxBytes: number): readonly Route[] {
  return [
    {
      method: "POST",
      path: "/v1/workflows/:name/runs",
      scope: "start",
      scopeToWait: "read",
      answer: (visit) => startRun(visit, contracts, maxBytes),
    },
    {
      method: "POST",
      path: "/v1/workflows/:name/signals/:signal",
      scope: ["start", "signal"],
      answer: (visit) => signalWithStart(visit, contracts, maxBytes),
    },
  ];
}

const startFields = {
  input: anyValue,
  id: optionalText,
  delay: optionalDuration,
  startAt: optionalInstant,
  tags: optionalTexts,
  version: optionalNumber,
  runId: optionalText,
};

const signalFields = { ...startFields, payload: anyValue, dedupeId: optionalText, signalId: optionalText };

async function startRun(visit: Visit, contracts: Contracts, maxBytes: number): Promise<Response> {
  const { client, request } = visit;
  contracts.newest(visit.param("name"));
  const wait = waitOf(visit.query);
  const body = await readFields(request, maxBytes, startFields);
  const { contract, input, options } = readStart(visit, body, contracts);
  const run = await client.start(contract, input, options);
  const { runId, isNew, version = contract.version } = run;
  const started = { runId, workflow: contract.name, version, id: options.id, isNew };
  // Relative to this request, so it is right under every prefix.
  const headers = { location: `../../runs/${runId}` };
  const status = isNew ? 201 : 200;
  if (wait === undefined) return respondTo(request, started, { status, headers });
  const ending = await client.waitForEnd(runId, { wait, abortSignal: request.signal });
  return respondTo(request, shownTo(visit, { ...started, ...endingOf(ending) }), { status, headers });
}

async function signalWithStart(visit: Visit, contracts: Contracts, maxBytes: number): Promise<Response> {
  const { client, request } = visit;
  contracts.newest(visit.param("name"));
  const body = await readFields(request, maxBytes, signalFields);
  const { contract, input, options } = readStart(visit, body, contracts);
  const id = checkName(options.id, "id");
  const { run, outcome } = await client.signalWithStart(contract, visit.param("signal"), body.payload, {
    ...options,
    id,
    input,
    dedupeId: body.dedupeId,
    signalId: body.signalId,
  });
  const { runId, isNew, version } = run;
  const answer = { runId, workflow: contract.name, version, id, isNew, outcome };
  return respondTo(request, answer, { status: isNew ? 201 : 202, headers: { location: `../../../runs/${runId}` } });
}

interface GivenStart {
  readonly contract: Contract;
  readonly input: unknown;
  readonly options: StartOptions;
}

function readStart(
  { request, param }: Visit,
  { input, id, version, ...options }: ValuesOf<typeof startFields>,
  contracts: Contracts,
): GivenStart {
  const name = param("name");
  const contract = version === undefined ? contracts.newest(name) : contracts.exactly(name, version);
  return {
    contract,
    // A contract without an input takes null, too: not every language can leave a field out.
    input: contract.input === undefined ? (input ?? undefined) : input,
    options: {
      ...options,
      id: id ?? idempotencyKeyOf(request.headers),
      traceparent: request.headers.get("traceparent") ?? undefined,
    },
  };
}

export function startDescriptions(): Descriptions {
  const starting = ["unknown_workflow", "invalid_name", "invalid_input", "invalid_duration", "input_conflict"] as const;
  const storing = ["value_too_large", "unstorable_value"] as const;
  return {
    "POST /v1/workflows/:name/runs": {
      id: "startRun",
      does: "Starts a run. Sent again with the same id and input, it answers the run that is there.",
      query: ["wait"],
      takesKey: true,
      body: startFields,
      answers: { 201: "Started", 200: "Started" },
      problems: [...starting, ...storing],
    },
    "POST /v1/workflows/:name/signals/:signal": {
      id: "signalWithStart",
      does: "Sends a signal to the run of that id, which is started first unless it is there.",
      takesKey: true,
      body: signalFields,
      answers: { 201: "SignalledStart", 202: "SignalledStart" },
      problems: [...starting, ...storing, ...signalProblems],
    },
  };
}
