/**
 * The files whose mutants were all played, as the files were then: `ledger.json`. A whole campaign takes hours, so it is played in parts,
 * and after a change only what has changed is played. A file is listed once each of its mutants is found out, cannot run or is explained.
 * Tests change as well, so whoever deletes or weakens tests plays everything anew: `--all`.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import * as z from "zod";
import type { Attempted } from "./attempts.ts";
import type { Mutant } from "./sql-mutants.ts";
import { root } from "./workbench.ts";

const address = new URL("ledger.json", import.meta.url);

/** `digest`: of the file's text and of all its mutants, so that a new kind of mutant is played, too. */
const Played = z.record(z.string(), z.object({ digest: z.string(), mutants: z.number(), explained: z.number() }));
export type Ledger = z.infer<typeof Played>;

function readLedger(): Ledger {
  return Played.parse(JSON.parse(readFileSync(address, "utf8")));
}

/**
 * Adds to the ledger, which others who play other files may have written meanwhile. It has a line for each file that is there, so that
 * what two have played can be merged.
 */
function add(entries: Ledger): void {
  const ledger: Ledger = { ...readLedger(), ...entries };
  const files = Object.keys(ledger)
    .filter((file) => existsSync(new URL(file, root)))
    .sort();
  const lines = files.map((file) => `  ${JSON.stringify(file)}: ${JSON.stringify(ledger[file])}`);
  writeFileSync(address, `{\n${lines.join(",\n")}\n}\n`);
}

/** Answers the mutants of files that are listed as they are now, and whose explained mutants are explained still. */
export function playedBefore(
  mutants: readonly Mutant[],
  explained: ReadonlySet<string>,
  ledger: Ledger = readLedger(),
): Attempted[] {
  return [...Map.groupBy(mutants, ({ file }) => file)].flatMap(([file, ofFile]) => {
    const entry = ledger[file];
    const isPlayed = entry !== undefined && isSame(entry, entryOf(file, ofFile, explained));
    return isPlayed ? ofFile.map((mutant) => verdictBefore(mutant, explained.has(mutant.id))) : [];
  });
}

/** Lists each file once all its mutants are through. */
export class Progress {
  readonly #byFile: ReadonlyMap<string, readonly Mutant[]>;
  readonly #explained: ReadonlySet<string>;
  readonly #through = new Set<Mutant>();

  readonly #list: (entries: Ledger) => void;

  /** `list`: adds to the ledger. */
  constructor(mutants: readonly Mutant[], explained: ReadonlySet<string>, list: (entries: Ledger) => void = add) {
    this.#list = list;
    this.#byFile = Map.groupBy(mutants, ({ file }) => file);
    this.#explained = explained;
  }

  note({ mutant, verdict }: Attempted): void {
    if (verdict.kind === "survived" && !this.#explained.has(mutant.id)) return;
    this.#through.add(mutant);
    const { file } = mutant;
    const ofFile = this.#byFile.get(file) ?? [];
    if (!ofFile.every((each) => this.#through.has(each))) return;
    this.#list({ [file]: entryOf(file, ofFile, this.#explained) });
  }
}

function entryOf(file: string, mutants: readonly Mutant[], explained: ReadonlySet<string>): Ledger[string] {
  const hash = createHash("sha256").update(readFileSync(new URL(file, root)));
  for (const { mutated } of mutants) hash.update("\0").update(mutated);
  return {
    digest: hash.digest("hex").slice(0, 16),
    mutants: mutants.length,
    explained: mutants.filter(({ id }) => explained.has(id)).length,
  };
}

function isSame(one: Ledger[string], other: Ledger[string]): boolean {
  return one.digest === other.digest && one.explained === other.explained;
}

function verdictBefore(mutant: Mutant, isExplained: boolean): Attempted {
  return isExplained
    ? { mutant, verdict: { kind: "survived" }, by: undefined }
    : { mutant, verdict: { kind: "killed" }, by: "a campaign before (ledger.json)" };
}
