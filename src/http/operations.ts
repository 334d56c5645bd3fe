/**
 * What a person does to a run, or to all runs that fit a filter: each verb is a POST of its own, and may be sent again with
 * its `callId`. Of many runs one request does a page. The deletion of a run is a DELETE. By the user's own id no run can be
 * deleted: sent again, such a request could meet a new run of that id.
 */

import type { Contracts } from "./contracts.ts";
import type { Description, Descriptions } from "./description.ts";
import { type Fields, invalidField, optionalFlag, optionalNumber, optionalText, readFields } from "./fields.ts";
import { endedFilterOf, filterOf } from "./filter.ts";
import { optionalSignal } from "./repairs.ts";
import { respondTo } from "./respond.ts";
import type { Route, Visit } from "./route.ts";

/** Who asks, and why. */
const terms = { reason: optionalText, by: optionalText, callId: optionalText };
const pageFields = { ...terms, cursor: optionalText, limit: optionalNumber };
const manyFields = { ...pageFields, filter: filterOf, dryRun: optionalFlag };
const endedFields = { ...manyFields, filter: endedFilterOf };
const restartFields = { ...endedFields, from: optionalText };
const deleteFields = { ...endedFields, cancels: optionalFlag };
const signalFields = { ...manyFields, signal: optionalSignal };

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
  return [...ofWorkflows, ...ofRuns, ...manyRoutes(contracts, maxBytes)];
}

/** What is done to many runs, and to one in another way. */
function manyRoutes(contracts: Contracts, maxBytes: number): readonly Route[] {
  const many = (verb: string, answer: Route["answer"]): Route => ({
    method: "POST",
    path: `/v1/operations/${verb}`,
    scope: "admin",
    answer,
  });
  return [
    many("retry", async ({ client, request }) => {
      const { filter, ...page } = await readFields(request, maxBytes, endedFields);
      return respondTo(request, await client.operatePage("retry", filter, page));
    }),
    many("restart", async ({ client, request }) => {
      const { filter, ...page } = await readFields(request, maxBytes, restartFields);
      return respondTo(request, await client.operatePage("restart", filter, page));
    }),
    many("delete", async ({ client, request }) => {
      const { filter, ...page } = await readFields(request, maxBytes, deleteFields);
      return respondTo(request, await client.operatePage("delete", filter, page));
    }),
    many("signal", async ({ client, request }) => {
      const { filter, signal, ...page } = await readFields(request, maxBytes, signalFields);
      const { workflow, version } = filter;
      if (signal === undefined) throw invalidField("signal", "is missing", 'Write it as { "name": "address" }.');
      if (workflow === undefined) throw invalidField("filter", "names no workflow", "Say of which workflow they are.");
      const contract = version === undefined ? contracts.newest(workflow) : contracts.closest(workflow, version);
      return respondTo(
        request,
        await client.operatePage("signal", filter, { ...page, signal: { ...signal, contract } }),
      );
    }),
  ];
}

export function operationDescriptions(): Descriptions {
  const problems = ["unknown_run", "not_applicable", "too_many_operations", "invalid_name"] as const;
  const ofRuns = Object.entries(deeds).flatMap(([verb, does]): [string, Description][] => [
    [
      `POST /v1/runs/:id/${verb}`,
      { id: `${verb}Run`, does: `${does}.`, body: terms, answers: { 200: "Operated" }, problems },
    ],
    [
      `POST /v1/workflows/:name/ids/:id/${verb}`,
      {
        id: `${verb}RunById`,
        does: `${does}. The run is named by your id.`,
        body: terms,
        answers: { 200: "Operated" },
        problems: ["unknown_workflow", ...problems],
      },
    ],
    [
      `POST /v1/operations/${verb}`,
      {
        id: `${verb}Runs`,
        does: `The same for each run that fits a filter, a page at a time: ${does}.`,
        body: manyFields,
        answers: { 200: "ManyOperated" },
        problems: ["invalid_cursor", "invalid_name", "unknown_run"],
      },
    ],
  ]);
  const ofMany = Object.entries(deedsOfMany).map(([verb, { does, body, problems = [] }]): [string, Description] => [
    `POST /v1/operations/${verb}`,
    {
      id: `${verb}Runs`,
      does: `For each run that fits a filter, a page at a time: ${does}.`,
      body,
      answers: { 200: "ManyOperated" },
      problems: ["invalid_cursor", "invalid_name", "unknown_run", ...problems],
    },
  ]);
  return {
    ...Object.fromEntries([...ofRuns, ...ofMany]),
    "POST /v1/workflows/:name/pause": {
      id: "pauseWorkflow",
      does: "Pauses a workflow, its new runs too. Its runs are paused a page at a time: ask again with the `cursor`.",
      body: pageFields,
      answers: { 200: "WorkflowChanged" },
      problems: ["invalid_name", "invalid_cursor"],
    },
    "POST /v1/workflows/:name/resume": {
      id: "resumeWorkflow",
      does: "Resumes a paused workflow, and page by page the runs that were paused with it.",
      body: pageFields,
      answers: { 200: "WorkflowChanged" },
      problems: ["invalid_name", "invalid_cursor", "not_applicable"],
    },
    "DELETE /v1/runs/:id": {
      id: "deleteRun",
      does: "Deletes a run that is over, with its history.",
      query: ["reason", "by", "callId"],
      answers: { 200: "Operated" },
      problems: ["invalid_request", ...problems],
    },
  };
}

const deeds = {
  pause: "Pauses a run: nothing new begins until it is resumed",
  resume: "Lets a paused run go on",
  cancel: "Cancels a run, which cleans up first",
  terminate: "Ends a run at once, without cleaning up",
};

interface DeedOfMany extends Pick<Description, "does" | "problems"> {
  readonly body: Fields;
}

const deedsOfMany: Readonly<Record<string, DeedOfMany>> = {
  retry: { does: "Lets a failed run go on from where it failed", body: endedFields },
  restart: {
    does: "Begins a run anew, or from a step. The filter names a status: completed, failed, cancelled, blocked or paused",
    body: restartFields,
  },
  delete: {
    does: "Deletes a run that is over. With `cancels` others are asked to end: the same call again deletes them then",
    body: deleteFields,
  },
  signal: {
    does: "Sends a signal to a run that is not over. The filter names a workflow",
    body: signalFields,
    problems: ["unknown_workflow", "unknown_signal", "invalid_payload", "value_too_large", "unstorable_value"],
  },
};
