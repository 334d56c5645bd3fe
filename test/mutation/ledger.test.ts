/** The list of files whose mutants were all played: it holds for the text that was played, and for no other. */
import { expect, test } from "vitest";
import { allMutants } from "./all-mutants.ts";
import type { Attempted } from "./attempts.ts";
import { explained } from "./explained.ts";
import { type Ledger, Progress, playedBefore } from "./ledger.ts";
import type { Mutant } from "./sql-mutants.ts";

const file = "src/postgres/functions/run/finish_runs.sql";
const mutants = allMutants().filter((mutant) => mutant.file === file);
const known = new Set(explained.flatMap(({ mutants: ids }) => ids));
const [oneExplained] = mutants.filter(({ id }) => known.has(id));

/** Answers the ledger when these mutants survived, and all others were killed. */
function afterwards(surviving: readonly Mutant[], played: readonly Mutant[] = mutants): Ledger {
  const ledger: Ledger = {};
  const progress = new Progress(mutants, known, (entries) => void Object.assign(ledger, entries));
  const verdictOf = (mutant: Mutant): Attempted =>
    surviving.includes(mutant)
      ? { mutant, verdict: { kind: "survived" }, by: undefined }
      : { mutant, verdict: { kind: "killed" }, by: "races" };
  for (const mutant of played) progress.note(verdictOf(mutant));
  return ledger;
}

test("a file is listed once each of its mutants was found out or is explained", () => {
  if (oneExplained === undefined) throw new Error("none is explained");
  const ledger = afterwards([oneExplained]);
  expect(Object.keys(ledger)).toEqual([file]);
  const before = playedBefore(mutants, known, ledger);
  expect(before.map(({ mutant }) => mutant)).toEqual(mutants);
  expect(before.filter(({ verdict }) => verdict.kind === "survived").map(({ mutant }) => mutant.id)).toEqual(
    mutants.map(({ id }) => id).filter((id) => known.has(id)),
  );
});

test("a file is not listed while one of its mutants survives, or was not played", () => {
  expect(afterwards(mutants.filter(({ id }) => !known.has(id)).slice(0, 1))).toEqual({});
  expect(afterwards([], mutants.slice(1))).toEqual({});
});

test("a file that is listed is played again once a mutant is another, is new, or is explained no more", () => {
  const ledger = afterwards([]);
  const [first, ...rest] = mutants;
  if (first === undefined || oneExplained === undefined) throw new Error("it has none");
  expect(playedBefore([{ ...first, mutated: `${first.mutated} ` }, ...rest], known, ledger)).toEqual([]);
  expect(playedBefore([first, ...mutants], known, ledger)).toEqual([]);
  const fewer = new Set([...known].filter((id) => id !== oneExplained.id));
  expect(playedBefore(mutants, fewer, ledger)).toEqual([]);
});
