/** What a person does to a run: each verb is a POST of its own, and may be sent again with its `callId`. */
import type { OperationOptions } from "../client/operations.ts";
import { readValue } from "./body.ts";
import type { Contracts } from "./contracts.ts";
import { objectBody, optionalText } from "./fields.ts";
import { respondTo } from "./respond.ts";
import type { Route, Visit } from "./route.ts";

export function operationRoutes(contracts: Contracts, maxBytes: number): readonly Route[] {
  return (["pause", "resume", "cancel", "terminate"] as const).flatMap((verb): readonly Route[] => {
    const operate = async ({ client, request }: Visit, runId: string) =>
      respondTo(request, await client[verb](runId, await readOptions(request, maxBytes)));
    return [
      {
        method: "POST",
        path: `/v1/runs/:id/${verb}`,
        scope: "admin",
        answer: (visit) => operate(visit, visit.param("id")),
      },
      {
        method: "POST",
        path: `/v1/workflows/:name/ids/:id/${verb}`,
        scope: "admin",
        answer: async (visit) => {
          const contract = contracts.newest(visit.param("name"));
          return await operate(visit, (await visit.client.runById(contract, visit.param("id"))).runId);
        },
      },
    ];
  });
}

async function readOptions(request: Request, maxBytes: number): Promise<OperationOptions> {
  const body = objectBody(await readValue(request, maxBytes), ["reason", "by", "callId"]);
  return {
    reason: optionalText(body, "reason"),
    by: optionalText(body, "by"),
    callId: optionalText(body, "callId"),
  };
}
