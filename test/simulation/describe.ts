/** Calls in words: for whoever reads what happened. */
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

function inWords(value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => inWords(item)).join(" | ");
  if (typeof value !== "object" || value === null) return String(value);
  const fields = Object.entries(value).flatMap(([name, field]) => {
    if (name === "turns" || name === "moves") return [inWords(field)];
    if (name === "records" && Array.isArray(field)) return [`records ${field.map(({ path }) => path).join(", ")}`];
    if (name === "demands" && Array.isArray(field)) return [`demands ${field.map(({ path }) => path).join(", ")}`];
    if (name === "claim") return [`and claims (${inWords(field)})`];
    return telling.includes(name) && !times.has(name) ? [`${name} ${String(field)}`] : [];
  });
  return fields.join(" ");
}
