/** Turns as they come back from a platform that has carried them as JSON. */
import type { TurnRef } from "../../core/ports.ts";

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Whether the value names a turn that Postgres can read. One that it cannot read would fail the claim of all others. This
 * tells our messages from those of another program. It is no defence against forged ones: a host takes messages only
 * where nobody else may send any.
 */
export function isTurn(body: unknown): body is TurnRef {
  return (
    typeof body === "object" &&
    body !== null &&
    "runId" in body &&
    typeof body.runId === "string" &&
    uuid.test(body.runId) &&
    "turn" in body &&
    isInteger(body.turn) &&
    (!("alone" in body) || body.alone === undefined || typeof body.alone === "boolean") &&
    (!("groupSize" in body) || isCount(body.groupSize)) &&
    (!("branch" in body) || body.branch === undefined || isBranch(body.branch))
  );
}

function isBranch(branch: unknown): boolean {
  return (
    typeof branch === "object" &&
    branch !== null &&
    "path" in branch &&
    typeof branch.path === "string" &&
    !branch.path.includes("\u0000") &&
    branch.path.isWellFormed() &&
    "occurrence" in branch &&
    isInteger(branch.occurrence)
  );
}

function isCount(value: unknown): boolean {
  return isInteger(value) && Number(value) > 0;
}

/** Whether Postgres would take it as an integer. */
export function isInteger(value: unknown): boolean {
  return Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31;
}

/** Shows what names no turn, for a log. What was cloned may be no JSON: a bigint, a cycle. */
export function shownMessage(body: unknown): string | undefined {
  try {
    return JSON.stringify(body)?.slice(0, 200);
  } catch (error) {
    return `it is no JSON (${error instanceof Error ? error.message.split("\n")[0] : String(error)})`;
  }
}
