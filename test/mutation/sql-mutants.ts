/**
 * The mutants of one file of `src/postgres/functions`: its text with one place changed, each with an id that stands
 * however lines move: the function, what is changed, and which of several alike.
 */
import type { SqlFunction } from "../../src/postgres/sql-files.ts";
import { clauseEdits } from "./clauses.ts";
import { conditionEdits } from "./conditions.ts";
import { applied, type Edit, inWords } from "./edit.ts";
import { type Token, tokensOf } from "./sql-tokens.ts";
import { assignmentEdits, statementEdits } from "./statements.ts";

export interface Mutant {
  /** `claim_runs: t.status = 'parked' → true`, with ` (2)` behind the second one of these. */
  readonly id: string;
  /** Path from the root of the tree. */
  readonly file: string;
  readonly line: number;
  readonly from: string;
  readonly to: string;
  /** Text of the whole file, with the mutant in it. */
  readonly mutated: string;
}

export function isOfSql({ file }: Pick<Mutant, "file">): boolean {
  return file.endsWith(".sql");
}

/** Answers the function's name, or `engine`. */
export function functionOf({ id }: Pick<Mutant, "id">): string {
  return id.slice(0, id.indexOf(":"));
}

export function sqlMutants({ name, file, sql }: SqlFunction): Mutant[] {
  const tokens = tokensOf(sql);
  const body = bodyOf(tokens);
  const edits = [
    ...conditionEdits(body),
    ...clauseEdits(sql, body),
    ...statementEdits(body),
    ...assignmentEdits(body),
  ].sort((one, other) => one.start - other.start || one.end - other.end);

  const texts = new Set([sql]);
  const counts = new Map<string, number>();
  return edits.flatMap((edit) => {
    const mutated = applied(sql, edit);
    if (texts.has(mutated)) return [];
    texts.add(mutated);
    const { from, to } = shownOf(sql, edit);
    const words = `${name}: ${from} → ${to}`;
    const count = (counts.get(words) ?? 0) + 1;
    counts.set(words, count);
    const id = count === 1 ? words : `${words} (${count})`;
    const line = sql.slice(0, edit.start).split("\n").length;
    return [{ id, file: `src/postgres/${file}`, line, from, to, mutated }];
  });
}

function shownOf(sql: string, edit: Edit): { from: string; to: string } {
  const { from, to } = edit.shown ?? { from: sql.slice(edit.start, edit.end), to: edit.to };
  return { from: inWords(from), to: inWords(to) || "nothing" };
}

/** Answers the tokens between the first `$$` and the second. What comes behind (a trigger) is done once, by migrate. */
function bodyOf(tokens: readonly Token[]): readonly Token[] {
  const [first = -1, last = tokens.length] = tokens.flatMap(({ text }, index) => (text === "$$" ? [index] : []));
  return tokens.slice(first + 1, last);
}
