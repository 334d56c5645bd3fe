/** Looking at runs. */

import { isOver, type RunEnding } from "../client/run-view.ts";
import { toMilliseconds } from "../core/duration.ts";
import type { Contracts } from "./contracts.ts";
import type { Descriptions } from "./description.ts";
import { queryNumber } from "./fields.ts";
import { filterIn } from "./filter.ts";
import { respondTo } from "./respond.ts";
import type { Route, Visit } from "./route.ts";
import { shownTo } from "./stacks.ts";

const longestWaitMs = 60_000;

export function runRoutes(contracts: Contracts): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/v1/workflows/:name/ids/:id",
      scope: "read",
      answer: async (visit) => {
        const contract = contracts.newest(visit.param("name"));
        const run = await visit.client.runById(contract, visit.param("id"));
        return respondTo(visit.request, shownTo(visit, await run.get()));
      },
    },
    { method: "GET", path: "/v1/runs", scope: "read", isHeavy: true, answer: listRuns },
    {
      method: "GET",
      path: "/v1/runs/:id",
      scope: "read",
      answer: async (visit) => respondTo(visit.request, shownTo(visit, await visit.client.get(visit.param("id")))),
    },
    { method: "GET", path: "/v1/runs/:id/history", scope: "read", isHeavy: true, answer: readHistory },
    { method: "GET", path: "/v1/runs/:id/result", scope: "read", answer: readResult },
  ];
}

async function listRuns(visit: Visit): Promise<Response> {
  const { client, request, query } = visit;
  const page = await client.list({
    ...filterIn(query),
    limit: queryNumber(query, "limit"),
    cursor: query.get("cursor") ?? undefined,
  });
  return respondTo(request, shownTo(visit, page));
}

async function readHistory(visit: Visit): Promise<Response> {
  const { client, request, query } = visit;
  const page = {
    after: queryNumber(query, "after"),
    limit: queryNumber(query, "limit"),
    epoch: queryNumber(query, "epoch"),
  };
  return respondTo(request, shownTo(visit, await client.history(visit.param("id"), page)));
}

/** 202 while it is not over: there is no result yet, and that is no error. */
async function readResult(visit: Visit): Promise<Response> {
  const { client, request } = visit;
  const wait = waitOf(visit.query) ?? 0;
  const ending = await client.waitForEnd(visit.param("id"), { wait, abortSignal: request.signal });
  const { runId, workflow, version, status } = ending;
  const headers: Record<string, string> = isOver(status) ? {} : { "retry-after": "1" };
  const answer = { runId, workflow, version, ...endingOf(ending) };
  return respondTo(request, shownTo(visit, answer), { status: isOver(status) ? 200 : 202, headers });
}

export function endingOf({ status, result, error }: RunEnding): Partial<RunEnding> {
  return { status, result, error };
}

/** How long to wait, in milliseconds. A longer wait counts as the longest that is allowed. */
export function waitOf(query: URLSearchParams): number | undefined {
  const text = query.get("wait");
  return text === null ? undefined : Math.min(toMilliseconds(text, { field: "wait" }), longestWaitMs);
}

export function runDescriptions(): Descriptions {
  const filter = ["workflow", "version", "status", "tag", "parent"] as const;
  const times = ["createdFrom", "createdBefore", "endedFrom", "endedBefore"] as const;
  return {
    "GET /v1/workflows/:name/ids/:id": {
      id: "getRunById",
      does: "Answers the run that has this id of yours.",
      answers: { 200: "Run" },
      problems: ["unknown_workflow", "unknown_run", "invalid_name"],
    },
    "GET /v1/runs": {
      id: "listRuns",
      does: "Lists runs, the newest first. A page may be short or empty, though more pages follow: look at `cursor`.",
      query: [...filter, ...times, "limit", "cursor"],
      answers: { 200: "RunPage" },
      problems: ["invalid_request", "invalid_cursor", "invalid_name", "unknown_run"],
    },
    "GET /v1/runs/:id": {
      id: "getRun",
      does: "Answers a run.",
      answers: { 200: "Run" },
      problems: ["unknown_run"],
    },
    "GET /v1/runs/:id/history": {
      id: "getHistory",
      does: "Answers what a run did and what it waits for. Its records come a page at a time.",
      query: ["after", "limit", "epoch"],
      answers: { 200: "History" },
      problems: ["unknown_run", "invalid_request"],
    },
    "GET /v1/runs/:id/result": {
      id: "getResult",
      does: "Answers how a run ended: 200. While it is not over: 202.",
      query: ["wait"],
      answers: { 200: "Ending", 202: "Ending" },
      problems: ["unknown_run", "invalid_duration"],
    },
  };
}
