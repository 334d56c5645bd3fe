/** What repairs a run: retry, restart and fork. Each is a POST of its own, and may be sent again with its `callId`. */
import type { Contract } from "../core/contract/contract.ts";
import type { LayoverError } from "../core/errors.ts";
import { readValue } from "./body.ts";
import type { Contracts } from "./contracts.ts";
import { type Body, invalidField, isPlainObject, objectBody, optionalNumber, optionalText } from "./fields.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { respondTo } from "./respond.ts";
import type { Route, Visit } from "./route.ts";

export function repairRoutes(contracts: Contracts, maxBytes: number): readonly Route[] {
  const asked = ["reason", "by", "callId", "epoch"];
  const bodyOf = async ({ request }: Visit, more: readonly string[]) =>
    objectBody(await readValue(request, maxBytes), [...asked, ...more]);
  return [
    {
      method: "POST",
      path: "/v1/runs/:id/retry",
      scope: "admin",
      answer: async (visit) => {
        const body = await bodyOf(visit, ["results", "signal"]);
        const signal = await signalIn(body, visit, contracts);
        const options = { ...askedBy(body), results: resultsIn(body), ...signal };
        return respondTo(visit.request, await visit.client.retry(visit.param("id"), options));
      },
    },
    {
      method: "POST",
      path: "/v1/runs/:id/restart",
      scope: "admin",
      answer: async (visit) => {
        const { client, request } = visit;
        const runId = visit.param("id");
        const body = await bodyOf(visit, ["from", "input", "dryRun"]);
        const input = await inputIn(body, visit, contracts);
        const options = { ...askedBy(body), from: optionalText(body, "from"), ...input };
        const isPlan = (body["dryRun"] ?? false) === true;
        return respondTo(request, await (isPlan ? client.planRestart(runId, options) : client.restart(runId, options)));
      },
    },
    {
      method: "POST",
      path: "/v1/runs/:id/fork",
      scope: "admin",
      answer: async (visit) => {
        const { client, request } = visit;
        const body = objectBody(await readValue(request, maxBytes), ["epoch", "from", "input", "id", "newRunId"]);
        const input = await inputIn(body, visit, contracts);
        const forked = await client.fork(visit.param("id"), {
          epoch: optionalNumber(body, "epoch"),
          from: optionalText(body, "from"),
          id: optionalText(body, "id"),
          newRunId: optionalText(body, "newRunId") ?? idempotencyKeyOf(request.headers),
          ...input,
        });
        return respondTo(request, forked, { status: 201, headers: { location: `../${forked.runId}` } });
      },
    },
  ];
}

function askedBy(body: Body) {
  return {
    reason: optionalText(body, "reason"),
    by: optionalText(body, "by"),
    callId: optionalText(body, "callId"),
    epoch: optionalNumber(body, "epoch"),
  };
}

/** A signal for the run, and the run's contract. */
async function signalIn(
  body: Body,
  visit: Visit,
  contracts: Contracts,
): Promise<
  { readonly signal: { readonly name: string; readonly payload: unknown }; readonly contract: Contract } | undefined
> {
  const { signal } = body;
  if (signal === undefined) return undefined;
  if (!isPlainObject(signal)) throw notASignal();
  const { name, payload, ...more } = signal;
  if (typeof name !== "string" || Object.keys(more).length > 0) throw notASignal();
  return { signal: { name, payload }, contract: await contractOf(visit, contracts) };
}

function notASignal(): LayoverError {
  return invalidField("signal", "is no signal", 'Write it as { "name": "address", "payload": { "city": "Turin" } }.');
}

async function contractOf({ client, param }: Visit, contracts: Contracts): Promise<Contract> {
  const { workflow, version } = await client.get(param("id"));
  return contracts.closest(workflow, version);
}

/** Another input, and the contract of the run that it is for. */
async function inputIn(
  body: Body,
  visit: Visit,
  contracts: Contracts,
): Promise<{ readonly input: unknown; readonly contract: Contract } | undefined> {
  if (body["input"] === undefined) return undefined;
  return { input: body["input"], contract: await contractOf(visit, contracts) };
}

function resultsIn(body: Body): Readonly<Record<string, unknown>> | undefined {
  const results = body["results"] ?? undefined;
  if (results === undefined || isPlainObject(results)) return results;
  throw invalidField("results", "is not an object of results by place", 'Write it as { "charge": { "id": "ch_1" } }.');
}
