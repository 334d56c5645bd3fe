/** A result as a table for people: a row per contender, medians, and ratios to the bound where they tell. */

import { type FigureName, figureNames, figures } from "./figures.ts";
import type { Result, Standing } from "./rounds.ts";

export function table({ scenario, title, standings }: Result): string {
  const columns = figureNames.filter((name) => standings.some(({ medians }) => medians[name] !== undefined));
  const head = ["", ...columns.map((name) => figures[name].label)];
  const rows = standings.map((standing) => [standing.contender, ...columns.map((name) => cell(standing, name))]);
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const lines = [head, ...rows].map((row) =>
    row
      .map((text, column) => (column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0)))
      .join("  "),
  );
  return [`(${scenario}) ${title}`, ...lines].join("\n");
}

function cell({ medians, ratios }: Standing, name: FigureName): string {
  const value = medians[name];
  if (value === undefined) return "–";
  const ratio = ratios[name];
  const isTelling = figures[name].isComparable && ratio !== undefined;
  return value.toFixed(figures[name].digits) + (isTelling ? ` (×${ratio.toFixed(2)})` : "");
}
