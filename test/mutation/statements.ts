/** Statements of PL/pgSQL and assignments of SQL, left out one at a time. */
import { isAssignment } from "./conditions.ts";
import type { Edit } from "./edit.ts";
import type { Token } from "./sql-tokens.ts";

const before = new Set(["begin", "then", "else", "loop", ";"]);
/** What something follows from. A `select … into` or a `return` left out breaks everything, and teaches nothing. */
const acting = new Set(["perform", "insert", "update", "delete"]);

export function statementEdits(tokens: readonly Token[]): Edit[] {
  const begin = tokens.findIndex(({ text }) => text === "begin");
  return tokens.flatMap((token, index): Edit[] => {
    const previous = tokens[index - 1];
    if (
      begin < 0 ||
      index <= begin ||
      token.depth > 0 ||
      token.kind !== "word" ||
      previous === undefined ||
      !before.has(previous.text)
    )
      return [];
    if (!acting.has(token.text) && !isAssigned(tokens, index)) return [];
    const end = tokens.findIndex((other, place) => place > index && other.depth === 0 && other.text === ";");
    const onlyLocks = tokens[index + 1]?.text === "from"; // a statement without its lock does nothing, so that is enough
    return end < 0 || onlyLocks ? [] : [{ start: token.start, end: tokens[end]?.end ?? token.end, to: "null;" }];
  });
}

function isAssigned(tokens: readonly Token[], index: number): boolean {
  const operator = tokens.slice(index, index + 8).find(({ text }) => text === ":=" || text === ";");
  return operator?.text === ":=";
}

/** `set a = 1, b = 2`: each of them left out. */
export function assignmentEdits(tokens: readonly Token[]): Edit[] {
  return tokens.flatMap((token, index): Edit[] => {
    if (token.text !== "=" || !isAssignment(tokens, index)) return [];
    const first = index - 2;
    const end = assignmentEnd(tokens, index);
    const isFirst = tokens[first]?.text === "set";
    const isLast = tokens[end]?.text !== ",";
    if (isFirst && isLast) return [];
    const start = isFirst ? tokens[index - 1]?.start : tokens[first]?.start;
    const last = isFirst ? tokens[end]?.end : tokens[end - 1]?.end;
    return start === undefined || last === undefined ? [] : [{ start, end: last, to: "" }];
  });
}

function assignmentEnd(tokens: readonly Token[], index: number): number {
  const depth = tokens[index]?.depth ?? 0;
  for (let place = index; place < tokens.length; place += 1) {
    const token = tokens[place];
    if (token === undefined || token.depth < depth) return place;
    if (token.depth > depth) continue;
    if ([",", ";"].includes(token.text)) return place;
    if (["from", "where", "returning"].includes(token.text) && tokens[place - 1]?.text !== "distinct") return place;
  }
  return tokens.length;
}
