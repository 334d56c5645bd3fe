/**
 * What a person does to a run, or to all runs that fit a filter: each verb is a POST of its own, and may be sent again with
 * its `callId`. Of many runs one request does a page. The deletion of a run is a DELETE. By the user's own id no run can be
 * deleted: sent again, such a request could meet a new run of that id.
 */
import type { Contracts } from "./contracts.ts";
import { optionalFlag, optionalNumber, optionalText, readFields } from "./fields.ts";
import { filterOf } from "./filter.ts";
import { respondTo } from "./respond.ts";
import type { Route, Visit } from "./route.ts";

/** Who asks, and why. */
const terms = { reason: optionalText, by: optionalText, callId: optionalText };
const pageFields = { ...terms, cursor: optionalText, limit: optionalNumber };
const manyFields = { ...pageFields, filter: filterOf, dryRun: optionalFlag };

/** The fields of the query, since proxies may drop the body of a DELETE. */
export const deleteRoute: Route = {
  method: "DELETE",
  path: "/v1/runs/:id",
  scope: "admin",
  answer: async ({ client, request, param, query }) => {
    const [reason, by, callId] = ["reason", "by", "callId"].map((field) => query.get(field) ?? undefined);
    return respondTo(request, await client.delete(param("id"), { reason, by, callId }));
  },
};

export function operationRoutes(contracts: Contracts, maxBytes: number): readonly Route[] {
  const ofWorkflows = (["pause", "resume"] as const).map(
    (verb): Route => ({
      method: "POST",
      path: `/v1/workflows/:name/${verb}`,
      scope: "admin",
      answer: async ({ client, request, param }) => {
        const page = await readFields(request, maxBytes, pageFields);
        return respondTo(request, await client.changeWorkflowPage(verb, param("name"), page));
      },
    }),
  );
  const ofRuns = (["pause", "resume", "cancel", "terminate"] as const).flatMap((verb): readonly Route[] => {
    const operate = async ({ client, request }: Visit, runId: string) =>
      respondTo(request, await client[verb](runId, await readFields(request, maxBytes, terms)));
    return [
      {
        method: "POST",
        path: `/v1/runs/:id/${verb}`,
        scope: "admin",
        answer: (visit) => operate(visit, visit.param("id")),
      },
      {
        method: "POST",
        path: `/v1/operations/${verb}`,
        scope: "admin",
        answer: async ({ client, request }) => {
          const { filter, ...page } = await readFields(request, maxBytes, manyFields);
          return respondTo(request, await client.operatePage(verb, filter, page));
        },
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
  return [...ofWorkflows, ...ofRuns];
}
