/** Moves a run to another version of its workflow. Who asks has looked at it and replayed its history: `layover upgrade`. */
import { upgradeRun } from "../client/over-postgres/upgrades.ts";
import { checkWhole } from "../client/whole-number.ts";
import type { Descriptions } from "./description.ts";
import { type Body, optionalText, readFields, requiredNumber, requiredText } from "./fields.ts";
import { respondTo } from "./respond.ts";
import type { Route } from "./route.ts";

const hint = "Send it as the check answered it.";

const fields = {
  from: requiredVersion,
  to: requiredVersion,
  epoch: requiredCount,
  turn: requiredCount,
  position: requiredCount,
  lastMail: requiredMailNumber,
  signature: requiredText,
  reason: optionalText,
  by: optionalText,
  callId: optionalText,
};

export function upgradeRoute(maxBytes: number): Route {
  return {
    method: "POST",
    path: "/v1/runs/:id/upgrade",
    scope: "admin",
    answer: async ({ client, request, param }) => {
      const options = await readFields(request, maxBytes, fields);
      return respondTo(request, await client.within((context) => upgradeRun(context, param("id"), options)));
    },
  };
}

export function requiredVersion(body: Body, field: string): number {
  return checkWhole(field, requiredNumber(body, field), hint, [1]);
}

export function requiredCount(body: Body, field: string): number {
  return checkWhole(field, requiredNumber(body, field), hint, [0]);
}

/** The database counts signals in a `bigint`. */
export function requiredMailNumber(body: Body, field: string): number {
  return checkWhole(field, requiredNumber(body, field), hint, [0, Number.MAX_SAFE_INTEGER]);
}

export function upgradeDescriptions(): Descriptions {
  return {
    "POST /v1/runs/:id/upgrade": {
      id: "upgradeRun",
      does: "Moves a parked run to another version of its workflow, if it is still as it was looked at.",
      body: fields,
      answers: { 200: "Upgraded" },
      problems: ["unknown_run", "not_applicable", "too_many_operations", "invalid_name"],
    },
  };
}
