/** Signals, to a run named by our id or by the user's own. */
import type { Client, SignalReceipt } from "../client/client.ts";
import { readJson } from "./body.ts";
import type { Contracts } from "./contracts.ts";
import { objectBody, optionalText } from "./fields.ts";
import { jsonAnswer } from "./json-answer.ts";
import type { Route, Visit } from "./route.ts";

export function signalRoutes(client: Client, contracts: Contracts, maxBytes: number): readonly Route[] {
  return [
    {
      method: "POST",
      path: "/v1/runs/:id/signals/:signal",
      scope: "signal",
      answer: async (visit) => {
        const { payload, dedupeId } = await readSignal(visit, maxBytes);
        const runId = visit.param("id");
        const { workflow, version } = await client.settle(runId, { wait: 0 });
        const contract = contracts.closest(workflow, version);
        return received(await client.signal(runId, visit.param("signal"), payload, { contract, dedupeId }));
      },
    },
    {
      method: "POST",
      path: "/v1/workflows/:name/ids/:id/signals/:signal",
      scope: "signal",
      answer: async (visit) => {
        const name = visit.param("name");
        const newest = contracts.newest(name);
        const { payload, dedupeId } = await readSignal(visit, maxBytes);
        const id = visit.param("id");
        const signal = visit.param("signal");
        if (contracts.hasOneVersion(name)) {
          return received(await client.signal({ id }, signal, payload, { contract: newest, dedupeId }));
        }
        const { runId } = await client.runById(newest, id);
        const contract = contracts.closest(name, (await client.settle(runId, { wait: 0 })).version);
        return received(await client.signal(runId, signal, payload, { contract, dedupeId }));
      },
    },
  ];
}

async function readSignal(
  { request }: Visit,
  maxBytes: number,
): Promise<{ payload: unknown; dedupeId: string | undefined }> {
  const body = objectBody(await readJson(request, maxBytes), ["payload", "dedupeId"]);
  return { payload: body["payload"], dedupeId: optionalText(body, "dedupeId") };
}

function received(receipt: SignalReceipt): Response {
  return jsonAnswer(receipt, 202);
}
