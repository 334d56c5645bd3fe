/** Calls, their answers and what became of the rows, in words: for whoever reads what happened. */
import type { Row } from "../../src/core/ports.ts";
import type { Waiting } from "../engine/mortal.ts";
import { isOver, type RunRows } from "./snapshot.ts";

/** The fields of a call that tell it from others, in the order in which they are told. */
const telling = ["runId", "turn", "path", "occurrence", "name", "outcome", "position", "records", "demands", "next"];

export function describeCall({ port, what, parameter }: Waiting): string {
  if (port === "dispatch") return `dispatches ${what}`;
  if (port === "alarm") return `arms ${what}`;
  if (port === "store") return `${what}s a value`;
  if (parameter === undefined) return `${what}()`;
  const call = JSON.parse(parameter);
  const items: readonly unknown[] = call.turns ?? call.moves ?? [call];
  return `${what}(${items.map((item) => itemInWords(Object(item))).join(" | ")})`;
}

/** What a call was answered. Undefined: nothing worth telling. */
export function describeAnswer(rows: readonly Row[]): string | undefined {
  const answer = Object(rows[0]?.["answer"]);
  const items: readonly unknown[] = Array.isArray(answer.turns) ? answer.turns : [answer];
  const outcomes = items.flatMap((item) => outcomeInWords(Object(item)));
  if (Array.isArray(answer.runs)) return `${answer.runs.length} due`;
  return outcomes.length === 0 ? undefined : outcomes.join(", ");
}

/** What was brought to a run says whether it is to go on for it. */
function outcomeInWords({ outcome, turn }: Readonly<Record<string, unknown>>): readonly string[] {
  if (outcome === undefined) return [];
  if (outcome !== "sent" && outcome !== "answered") return [String(outcome)];
  return [`${outcome}, ${typeof turn === "number" ? `and turn ${turn} is ready` : "which wakes nothing"}`];
}

/** How a run stands. */
export function describeRun(run: RunRows): string {
  const { runId, status, turn, blocked, readyAt, leasedUntil, due, lastPosition, pending, signals, answers } = run;
  if (isOver(run)) return `${runId} is ${status}, ${lastPosition} records`;
  const waits = pending.map(({ kind, place, position }) => `${kind} ${place}${position === null ? "" : " (recorded)"}`);
  const mail = [
    ...signals.flatMap(({ name, position }) => (position === null ? [`signal ${name}`] : [])),
    ...answers.flatMap(({ place, position }) => (position === null ? [`answer to ${place}`] : [])),
  ];
  return [
    `${runId} is ${blocked === null ? status : "blocked"}, turn ${turn}, ${lastPosition} records`,
    status === "running" ? `leased until ${time(leasedUntil)}` : `ready at ${time(readyAt)}`,
    `due at ${time(due)}`,
    ...(waits.length > 0 ? [`waits for ${waits.join(", ")}`] : []),
    ...(mail.length > 0 ? [`not taken: ${mail.join(", ")}`] : []),
  ].join("; ");
}

function itemInWords(item: Readonly<Record<string, unknown>>): string {
  const fields = telling.flatMap((name) => {
    const field = item[name];
    if (field === undefined || field === null) return [];
    if (name === "runId") return [String(field)];
    if (name === "position") return [`saw ${field}`];
    return [`${name} ${Array.isArray(field) ? field.map(({ path }) => path).join(", ") : field}`];
  });
  if (item["alone"] === true) fields.push("alone");
  if (item["claim"] !== undefined) fields.push(`and claims (${itemInWords(Object(item["claim"]))})`);
  return fields.join(" ");
}

function time(ms: number | null): string {
  return ms === null ? "never" : new Date(ms).toISOString().slice(11, 23);
}
