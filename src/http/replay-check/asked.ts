/** What a request says that has runs judged, and what the OpenAPI document tells of it. */
import { isUuid } from "../../client/run-id.ts";
import type { Descriptions } from "../description.ts";
import { type Body, invalidField, requiredNumber } from "../fields.ts";

/** How many runs a request may name. */
export const mostRuns = 10;

export const replayCheckFields = { runs: someRunIds };
export const upgradeCheckFields = { runs: someRunIds, from: requiredNumber, to: requiredNumber };

/** @throws LayoverError `invalid_request` */
export function someRunIds(body: Body, field: string): readonly string[] {
  const value = body[field];
  if (Array.isArray(value) && value.length > 0 && value.length <= mostRuns && value.every(isId)) return value;
  throw invalidField(field, "is no list of ids of runs", `Send 1 to ${mostRuns} ids in a list.`);
}

function isId(value: unknown): value is string {
  return typeof value === "string" && isUuid(value);
}

export function replayCheckDescriptions(): Descriptions {
  return {
    "GET /v1/replay-check": {
      id: "listParked",
      does: "Lists the runs that are not over, the newest first, with a digest of their histories. A page may be short or empty, though more pages follow: look at `cursor`.",
      query: ["workflow", "version", "status", "tag", "createdFrom", "createdBefore", "cursor"],
      answers: { 200: "ParkedPage" },
      problems: ["invalid_request", "invalid_cursor", "invalid_name", "not_applicable"],
    },
    "POST /v1/replay-check": {
      id: "judgeRuns",
      does: "Replays the code of this deployment over the histories of runs, and carries nothing out. It judges as many as there is time for; ask again for what is `left`.",
      body: replayCheckFields,
      answers: { 200: "Judgements" },
      problems: ["invalid_request", "not_applicable"],
    },
    "POST /v1/upgrade-check": {
      id: "judgeUpgrades",
      does: "Tells which of these runs fit another version of their workflow, by the code of this deployment. It moves none: that is `POST /v1/runs/{id}/upgrade`. Ask again for what is `left`.",
      body: upgradeCheckFields,
      answers: { 200: "MoveJudgements" },
      problems: ["invalid_request", "not_applicable"],
    },
  };
}
