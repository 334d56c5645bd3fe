/**
 * Judges runs by the code of this deployment, a few in a request. Who asks first lists the runs under way, with the digests of
 * their histories, and then has some of them judged.
 */

import { filterCall } from "../../client/filter.ts";
import type { Client } from "../../client/over-postgres/client.ts";
import { translated } from "../../client/over-postgres/failure.ts";
import { listParked } from "../../client/over-postgres/stored-runs.ts";
import { isUuid } from "../../client/run-id.ts";
import { LayoverError } from "../../core/errors.ts";
import { Registry } from "../../engine/registry.ts";
import type { Calls } from "../../postgres/calls.ts";
import type { ParkedCall } from "../../postgres/wire-replay.ts";
import { readFields } from "../fields.ts";
import { filterIn } from "../filter.ts";
import { respondTo } from "../respond.ts";
import type { Route } from "../route.ts";
import { replayCheckFields, upgradeCheckFields } from "./asked.ts";
import { type Judgements, judgeRun, type Parked } from "./judge.ts";
import { judgeMove, type MoveJudgements } from "./judge-move.ts";
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
        const page = await called(client, (calls) => listParked(calls, parkedCall(query)));
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
        const judged = await called(client, (calls) =>
          judgeAll(runs, now, (runId) => judgeRun(calls, registry, runId)),
        );
        return respondTo(request, { deployment, ...judged } satisfies Judgements);
      },
    },
    {
      method: "POST",
      path: "/v1/upgrade-check",
      scope,
      isHeavy: true,
      answer: async ({ client, request }) => {
        const { runs, from, to } = await readFields(request, mostBytes, upgradeCheckFields);
        const registry = new Registry(workflows, schedules);
        const judged = await called(client, (calls) =>
          judgeAll(runs, now, (runId) => judgeMove(calls, registry, { runId, from, to })),
        );
        return respondTo(request, { deployment, ...judged } satisfies MoveJudgements);
      },
    },
  ];
}

/** Judges at least one run, so whoever asks again comes to an end. */
async function judgeAll<Verdict>(
  runs: readonly string[],
  now: () => number,
  judge: (runId: string) => Promise<Verdict>,
): Promise<{ readonly verdicts: readonly Verdict[]; readonly left: readonly string[] }> {
  const verdicts: Verdict[] = [];
  const until = now() + budgetMs;
  for (const runId of runs) {
    if (verdicts.length > 0 && now() >= until) break;
    verdicts.push(await judge(runId));
  }
  return { verdicts, left: runs.slice(verdicts.length) };
}

function called<Answer>(client: Client, ask: (calls: Calls) => Promise<Answer>): Promise<Answer> {
  return client.within((context) => translated(() => ask(context.calls)));
}

/** A version may be asked for without its workflow. */
function parkedCall(query: URLSearchParams): ParkedCall {
  const { version, ...filter } = filterIn(query);
  const before = query.get("cursor");
  if (before !== null && !isUuid(before)) {
    throw new LayoverError("invalid_cursor", "the cursor is not one of this list", {
      hint: "Give the cursor of the page before, or none.",
    });
  }
  return { ...filterCall(filter), ...(version !== undefined && { version }), ...(before !== null && { before }) };
}
