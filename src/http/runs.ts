/** Starting runs and looking at them. */
import { isOver, type RunEnding, type RunStatus, runStatuses } from "../client/run-view.ts";
import { toMilliseconds } from "../core/duration.ts";
import { LayoverError } from "../core/errors.ts";
import { readValue } from "./body.ts";
import type { Contracts } from "./contracts.ts";
import {
  invalidField,
  objectBody,
  optionalDuration,
  optionalInstant,
  optionalNumber,
  optionalText,
  optionalTexts,
  queryNumber,
  shorten,
} from "./fields.ts";
import { respondTo } from "./respond.ts";
import type { Route, Visit } from "./route.ts";
import { shownTo } from "./stacks.ts";

const longestWaitMs = 60_000;

export function runRoutes(contracts: Contracts, maxBytes: number): readonly Route[] {
  return [
    {
      method: "POST",
      path: "/v1/workflows/:name/runs",
      scope: "start",
      scopeToWait: "read",
      answer: (visit) => startRun(visit, contracts, maxBytes),
    },
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

async function startRun(visit: Visit, contracts: Contracts, maxBytes: number): Promise<Response> {
  const { client, request } = visit;
  const name = visit.param("name");
  contracts.newest(name);
  const wait = waitOf(visit.query);
  const fields = ["input", "id", "delay", "startAt", "tags", "version", "runId"];
  const body = objectBody(await readValue(request, maxBytes), fields);
  const version = optionalNumber(body, "version");
  const contract = version === undefined ? contracts.newest(name) : contracts.exactly(name, version);
  // A contract without an input takes null, too: not every language can leave a field out.
  const input = contract.input === undefined ? (body["input"] ?? undefined) : body["input"];
  const id = optionalText(body, "id") ?? idempotencyKeyOf(request.headers);
  const run = await client.start(contract, input, {
    id,
    delay: optionalDuration(body, "delay"),
    startAt: optionalInstant(body, "startAt"),
    tags: optionalTexts(body, "tags"),
    traceparent: request.headers.get("traceparent") ?? undefined,
    runId: optionalText(body, "runId"),
  });
  const { runId, isNew, version: itsVersion = contract.version } = run;
  const started = { runId, workflow: contract.name, version: itsVersion, id, isNew };
  // Relative to this request, so it is right under every prefix.
  const headers = { location: `../../runs/${runId}` };
  const status = isNew ? 201 : 200;
  if (wait === undefined) return respondTo(request, started, { status, headers });
  const ending = await client.waitForEnd(runId, { wait, abortSignal: request.signal });
  return respondTo(request, shownTo(visit, { ...started, ...endingOf(ending) }), { status, headers });
}

async function listRuns(visit: Visit): Promise<Response> {
  const { client, request, query } = visit;
  const page = await client.list({
    workflow: query.get("workflow") ?? undefined,
    status: statusIn(query),
    tags: tagsIn(query),
    limit: queryNumber(query, "limit"),
    cursor: query.get("cursor") ?? undefined,
  });
  return respondTo(request, shownTo(visit, page));
}

async function readHistory(visit: Visit): Promise<Response> {
  const { client, request, query } = visit;
  const page = { after: queryNumber(query, "after"), limit: queryNumber(query, "limit") };
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

function endingOf({ status, result, error }: RunEnding): Partial<RunEnding> {
  return { status, result, error };
}

/** How long to wait, in milliseconds. A longer wait counts as the longest that is allowed. */
function waitOf(query: URLSearchParams): number | undefined {
  const text = query.get("wait");
  return text === null ? undefined : Math.min(toMilliseconds(text, { field: "wait" }), longestWaitMs);
}

/** The draft has it in quotes, many clients do not. */
function idempotencyKeyOf(headers: Headers): string | undefined {
  const key = headers.get("idempotency-key") ?? undefined;
  return key && utf8In(key).replace(/^"(.*)"$/, "$1");
}

/**
 * Reads a header as UTF-8. A header has one character for each byte. If these bytes are no UTF-8, the text stays as it
 * is.
 */
function utf8In(header: string): string {
  try {
    const bytes = Uint8Array.from(header, (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return header;
  }
}

function statusIn(query: URLSearchParams): RunStatus | undefined {
  const text = query.get("status");
  if (text === null) return undefined;
  const status = runStatuses.find((candidate) => candidate === text);
  if (status !== undefined) return status;
  throw invalidField("status", `${JSON.stringify(shorten(text))} is none`, `It is one of ${runStatuses.join(", ")}.`);
}

/** `?tag=customer:c1&tag=region:eu`. What `:` and `%` are part of the name are written `%3A` and `%25` in it. */
function tagsIn(query: URLSearchParams): Readonly<Record<string, string>> | undefined {
  const tags = query.getAll("tag").map((tag): [string, string] => {
    const colon = tag.indexOf(":");
    const name = decoded(tag.slice(0, Math.max(colon, 0)));
    if (name) return [name, tag.slice(colon + 1)];
    throw invalidField("tag", `${JSON.stringify(shorten(tag))} is not name:value`, "Write ?tag=customer:c1.");
  });
  const byName = new Map(tags);
  if (tags.some(([name, value]) => byName.get(name) !== value)) {
    throw new LayoverError("invalid_request", "a tag is given twice, with two values", {
      hint: "A run has one value for each tag, so no run has both.",
      details: { field: "tag" },
    });
  }
  return tags.length === 0 ? undefined : Object.fromEntries(tags);
}

function decoded(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}
