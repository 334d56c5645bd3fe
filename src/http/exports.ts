/** Takes a run's history elsewhere, a page at a time. Each page is asked for with the `callId` of the first one. */
import { exportPage } from "../client/over-postgres/exports.ts";
import type { Descriptions } from "./description.ts";
import { optionalFlag, optionalNumber, optionalText, readFields } from "./fields.ts";
import { respondTo } from "./respond.ts";
import type { Route } from "./route.ts";

const fields = {
  reason: optionalText,
  by: optionalText,
  callId: optionalText,
  after: optionalNumber,
  withSecrets: optionalFlag,
};

export function exportRoute(maxBytes: number): Route {
  return {
    method: "POST",
    path: "/v1/runs/:id/export",
    scope: "export",
    isHeavy: true,
    answer: async ({ client, request, param }) => {
      const options = await readFields(request, maxBytes, fields);
      return respondTo(request, await client.within((context) => exportPage(context, param("id"), options)));
    },
  };
}

export function exportDescriptions(): Descriptions {
  return {
    "POST /v1/runs/:id/export": {
      id: "exportRun",
      does: "Answers a page of what a replay of the run needs. That somebody asked is kept with the run. Sensitive values are there only `withSecrets`.",
      body: fields,
      answers: { 200: "ReplayPage" },
      problems: ["unknown_run", "too_many_operations", "invalid_name"],
    },
  };
}
