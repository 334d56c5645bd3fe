/** Says what became of the runs that were to be moved. */
import { plain } from "../screen.ts";
import type { Moved, Told } from "./move-run.ts";

const shownOfEach = 5;

const words = {
  moved: "moved",
  fits: "fit",
  refused: "refused by the version's contract",
  blocks: "would be blocked",
  ends: "would end early",
  left: "left, since they have gone on",
} as const;

export function countsOf(told: readonly Told[]): Readonly<Partial<Record<Moved["outcome"], number>>> {
  const counts: Partial<Record<Moved["outcome"], number>> = {};
  for (const { outcome } of told) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

export function toldOf(told: readonly Told[]): string {
  const counts = countsOf(told);
  const parts = Object.entries(words).flatMap(([outcome, word]) => {
    const count = counts[outcome as Moved["outcome"]]; // a key of `words` is one
    return count === undefined ? [] : [`${count} ${word}`];
  });
  return `${told.length} run${told.length === 1 ? "" : "s"}: ${parts.join(", ")}`;
}

export function linesOf(told: readonly Told[], isDry: boolean): readonly string[] {
  if (told.length === 0) return ["Nothing was examined: no run under way of that version is meant."];
  const odd = new Map<string, string[]>();
  for (const { runId, reason } of told) if (reason !== undefined) odd.set(reason, [...(odd.get(reason) ?? []), runId]);
  return [
    `${toldOf(told)}.`,
    ...[...odd].flatMap(([reason, runIds]) => [
      plain(reason),
      ...runIds.slice(0, shownOfEach).map((runId) => `  ${runId}`),
      ...(runIds.length > shownOfEach ? [`  … ${runIds.length} in all`] : []),
    ]),
    ...(isDry ? ["Nothing was moved."] : []),
  ];
}
