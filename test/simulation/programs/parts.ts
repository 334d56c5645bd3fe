/** What verbs with several parts share. */
import fc from "fast-check";
import type { ProgramStep } from "./contract.ts";
import { type Judging, type Playing, type Program, partAt } from "./part.ts";
import type { Prospects } from "./prospects.ts";

export function playAt(parts: readonly Program[], playing: Playing): Promise<unknown>[] {
  return parts.map((part, index) => part.play({ ...playing, at: partAt(playing.at, index) }));
}

/** Each with a `step` of its own. */
export function branchesOf(
  parts: readonly Program[],
  playing: Playing,
): ((context: { readonly step: ProgramStep }) => Promise<unknown>)[] {
  return parts.map(
    (part, index) =>
      ({ step }) =>
        part.play({ ...playing, step, at: partAt(playing.at, index) }),
  );
}

export function prospectsAt(parts: readonly Program[], judging: Judging): Prospects[] {
  return parts.map((part, index) => part.prospects({ ...judging, at: partAt(judging.at, index) }));
}

export function wordsAt(parts: readonly Program[], at: string): string[] {
  return parts.map((part, index) => part.inWords(partAt(at, index)));
}

export function several(inner: fc.Arbitrary<Program>): fc.Arbitrary<Program[]> {
  return fc.array(inner, { minLength: 1, maxLength: 3, size: "max" });
}
