/** Calls in words: for whoever reads what happened. */
import type { Row } from "../../src/core/ports.ts";
import type { Waiting } from "../engine/process.ts";

/** The fields of a call that tell it from others. */
const telling = ["runId", "turn", "path", "occurrence", "next", "name", "position", "alone", "outcome"];
const times = new Set(["now", "notAfter", "armed"]);

export function describeCall({ port, what, parameter }: Waiting): string {
  if (port === "dispatch") return `dispatches ${what}`;
  if (port === "alarm") return `arms ${what}`;
  if (parameter === undefined) return `${what}()`;
  return `${what}(${inWords(JSON.parse(parameter))})`;
}

/** What a call was answered. Undefined: nothing worth telling. */
export function describeAnswer(rows: readonly Row[]): string | undefined {
  const answer = Object(rows[0]?.["answer"]);
  const items: readonly unknown[] = Array.isArray(answer.turns) ? answer.turns : [answer];
  const outcomes = items.flatMap((item) => [Reflect.get(Object(item), "outcome") ?? []].flat());
  if (Array.isArray(answer.runs)) return `${answer.runs.length} due`;
  return outcomes.length === 0 ? undefined : outcomes.join(", ");
}

function inWords(value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => inWords(item)).join(" | ");
  if (typeof value !== "object" || value === null) return String(value);
  const fields = Object.entries(value).flatMap(([name, field]) => {
    if (name === "turns" || name === "moves") return [inWords(field)];
    if (name === "records" && Array.isArray(field)) return [`records ${field.map(({ path }) => path).join(", ")}`];
    if (name === "demands" && Array.isArray(field)) return [`demands ${field.map(({ path }) => path).join(", ")}`];
    if (name === "claim") return [`and claims (${inWords(field)})`];
    if (name === "runId") return [String(field)];
    if (name === "alone") return field === true ? ["alone"] : [];
    return telling.includes(name) && !times.has(name) ? [`${name} ${String(field)}`] : [];
  });
  return fields.join(" ");
}
