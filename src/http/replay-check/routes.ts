/**
 * Judges runs by the code of this deployment, a few in a request. Who asks first lists the runs under way, with the digests of
 * their histories, and then has some of them judged.
 */

import type { Client } from "../../client/over-postgres/client.ts";
import { translated } from "../../client/over-postgres/failure.ts";
import { isUuid } from "../../client/run-id.ts";
import { LayoverError } from "../../core/errors.ts";
import { Registry } from "../../engine/registry.ts";
import type { Calls } from "../../postgres/calls.ts";
import { queryNumber, readFields } from "../fields.ts";
import { respondTo } from "../respond.ts";
import type { Route } from "../route.ts";
import { replayCheckFields } from "./asked.ts";
import { type Judged, type Judgements, judgeRun, type Parked } from "./judge.ts";
import type { Carried } from "./mount.ts";

/** A request begins no further run after this time. */
const budgetMs = 5_000;
/** More than the ids of ten runs take. */
const mostBytes = 16 * 1024;

export function replayCheckRoutes({
  workflows,
  schedules,
  deployment: { name, id },
  now = Date.now,
}: Carried): readonly Route[] {
  const path = "/v1/replay-check";
  const deployment = { name, id };
  const scope = ["read", "admin"] as const; // it reads runs, has code run, and names files of the server
  return [
    {
      method: "GET",
      path,
      scope,
      isHeavy: true,
      answer: async ({ client, request, query }) => {
        const { versions } = new Registry(workflows, schedules);
        const page = await called(client, (calls) => calls.listParked(filterIn(query)));
        const parked: Parked = { deployment, versions, runs: page.runs, cursor: page.next ?? undefined };
        return respondTo(request, parked);
      },
    },
    {
      method: "POST",
      path,
      scope,
      isHeavy: true,
      answer: async ({ client, request }) => {
        const { runs } = await readFields(request, mostBytes, replayCheckFields);
        const registry = new Registry(workflows, schedules);
        const judged = await called(client, (calls) => judgeAll(calls, { registry, runs, now }));
        return respondTo(request, { deployment, ...judged } satisfies Judgements);
      },
    },
  ];
}

/** Judges at least one run, so whoever asks again comes to an end. */
async function judgeAll(
  calls: Calls,
  {
    registry,
    runs,
    now,
  }: { readonly registry: Registry; readonly runs: readonly string[]; readonly now: () => number },
): Promise<Omit<Judgements, "deployment">> {
  const verdicts: Judged[] = [];
  const until = now() + budgetMs;
  for (const runId of runs) {
    if (verdicts.length > 0 && now() >= until) break;
    verdicts.push(await judgeRun(calls, registry, runId));
  }
  return { verdicts, left: runs.slice(verdicts.length) };
}

function called<Answer>(client: Client, ask: (calls: Calls) => Promise<Answer>): Promise<Answer> {
  return client.within((context) => translated(() => ask(context.calls)));
}

function filterIn(query: URLSearchParams) {
  const [workflow, version, before] = [query.get("workflow"), queryNumber(query, "version"), query.get("cursor")];
  if (before !== null && !isUuid(before)) {
    throw new LayoverError("invalid_cursor", "the cursor is not one of this list", {
      hint: "Give the cursor of the page before, or none.",
    });
  }
  return {
    ...(workflow !== null && { workflow }),
    ...(version !== undefined && { version }),
    ...(before !== null && { before }),
  };
}
