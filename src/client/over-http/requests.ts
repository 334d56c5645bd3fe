/** Makes the paths, queries and bodies of the HTTP client's requests. */
import { v7 } from "uuid";
import type { Contract } from "../../core/contract/contract.ts";
import type { WireFilter } from "../../postgres/wire-views.ts";
import { callbackTokenIn } from "../callback-token.ts";
import { filterCall, type RunFilter } from "../filter.ts";
import { unknownCallback } from "../mail.ts";
import { knownRunId } from "../run-id.ts";
import { isTraceparent, type StartOptions } from "../starting.ts";
import type { RequestOptions } from "./api.ts";

/** The instants of a filter, as Dates. */
export function datesOf({
  createdFrom,
  createdBefore,
  endedFrom,
  endedBefore,
}: WireFilter): Readonly<Record<string, Date>> {
  const times = Object.entries({ createdFrom, createdBefore, endedFrom, endedBefore });
  return Object.fromEntries(times.flatMap(([name, ms]) => (ms === undefined ? [] : [[name, new Date(ms)]])));
}

/** Writes a filter as a query. */
export function queryOf(filter: RunFilter): NonNullable<RequestOptions["query"]> {
  const { tags, ...further } = filterCall(filter);
  const dates = Object.entries(datesOf(further)).map(([name, date]) => [name, date.toISOString()]);
  return {
    ...further,
    ...Object.fromEntries(dates),
    tag: tags && Object.entries(tags).map(([name, value]) => `${name.replace(/[%:]/g, encodeURIComponent)}:${value}`),
  };
}

/** Makes the request of a start. The input goes as it is: the server parses it, and a schema might transform it twice. */
export function startRequest(contract: Contract, input: unknown, options: StartOptions) {
  const { traceparent, startAt, runId = v7(), ...further } = options;
  const at = startAt !== undefined && { startAt: new Date(startAt) };
  return {
    body: { ...further, runId, input, version: contract.version, ...at },
    headers: traceparent !== undefined && isTraceparent(traceparent) ? { traceparent } : {},
  };
}

export function runPath(runId: string): string {
  return `/v1/runs/${knownRunId(runId)}`;
}

/** Makes the path of a callback. Only the token of a whole URL counts, since requests go to this client's own url. */
export function callbackPath(tokenOrUrl: string): string {
  const token = callbackTokenIn(tokenOrUrl);
  if (/^[\w-]+\.[\w-]+$/.test(token)) return `/callbacks/${token}`;
  throw unknownCallback();
}
