/** What came of it all: who killed how many, and which survived, with what was changed. */
import type { Attempted } from "./attempts.ts";
import type { explained } from "./explained.ts";

export function verdictOf({ verdict: { kind, test }, by }: Attempted): string {
  return by === undefined ? "SURVIVED" : `${kind} by ${by}${test === undefined ? "" : ` (${test})`}`;
}

/** `isWhole`: every mutant was tried by every killer, so each explanation must have met its mutant. */
export function table(
  attempted: readonly Attempted[],
  explanations: typeof explained,
  isWhole: boolean,
): { readonly text: string; readonly isFine: boolean } {
  const known = new Map(explanations.flatMap(({ why, mutants }) => mutants.map((id) => [id, why] as const)));
  const counts = new Map<string, number>();
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  for (const { mutant, verdict, by } of attempted) {
    if (verdict.kind === "survived") count(known.has(mutant.id) ? "survived, explained" : "survived, unexplained");
    else count(verdict.kind === "killed" ? `killed by ${by}` : verdict.kind);
  }
  const survivors = attempted.filter(({ verdict }) => verdict.kind === "survived");
  const unexplained = survivors.filter(({ mutant }) => !known.has(mutant.id));
  const surviving = new Set(survivors.map(({ mutant }) => mutant.id));
  const tried = new Set(attempted.map(({ mutant }) => mutant.id));
  const needless = [...known.keys()].filter((id) => (isWhole || tried.has(id)) && !surviving.has(id));
  const lines = [
    "",
    ...[...counts].sort().map(([what, number]) => `${String(number).padStart(6)}  ${what}`),
    `${String(attempted.length).padStart(6)}  mutants`,
    ...unexplained.flatMap(({ mutant: { id, file, line, from, to } }) => [
      "",
      `survived: ${id}`,
      `  ${file}:${line}`,
      `  - ${from}`,
      `  + ${to}`,
    ]),
    ...needless.map((id) => `\nexplained, but gone or found out: ${id}`),
  ];
  return { text: lines.join("\n"), isFine: unexplained.length + needless.length === 0 };
}
