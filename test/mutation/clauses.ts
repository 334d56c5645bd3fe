/**
 * Clauses and small words of SQL, taken out or turned around: locks, conflict clauses, orders, limits, boundaries,
 * defaults, steps of one, the first and the last of several.
 */
import type { Edit } from "./edit.ts";
import type { Token } from "./sql-tokens.ts";

const boundaries: Readonly<Record<string, string>> = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" };
const opposites: Readonly<Record<string, string>> = { least: "greatest", greatest: "least", min: "max", max: "min" };

export function clauseEdits(sql: string, tokens: readonly Token[]): Edit[] {
  const at = (index: number) => tokens[index]?.text;
  return tokens.flatMap((token, index): Edit[] => {
    const { text, start, end } = token;
    const boundary = token.kind === "operator" ? boundaries[text] : undefined;
    if (boundary !== undefined) return [around(sql, tokens, index, { start, end, to: boundary })];
    if ((text === "+" || text === "-") && at(index + 1) === "1") {
      return [around(sql, tokens, index, { start, end: tokens[index + 1]?.end ?? end, to: "" })];
    }
    if (token.kind !== "word") return [];
    const opposite = at(index + 1) === "(" ? opposites[text] : undefined;
    if (opposite !== undefined) return [called(sql, tokens, index, opposite)];
    if (text === "coalesce") return withoutLast(sql, tokens, index);
    if (text === "for" && at(index + 1) === "update") return lockEdits(tokens, index);
    if (text === "on" && at(index + 1) === "conflict") return conflictEdits(tokens, index);
    if (text === "order" && at(index + 1) === "by") return [reversed(sql, tokens, index)];
    if (text === "limit") return [{ start, end: tokens[clauseEnd(tokens, index) - 1]?.end ?? end, to: "" }];
    return [];
  });
}

function lockEdits(tokens: readonly Token[], index: number): Edit[] {
  const lock = { start: tokens[index]?.start ?? 0, end: tokens[index + 1]?.end ?? 0, to: "" };
  const [word, locked] = [tokens[index + 2], tokens[index + 3]];
  if (word?.text !== "skip" || locked === undefined) return [lock];
  return [
    { ...lock, end: locked.end },
    { start: word.start, end: locked.end, to: "" },
  ];
}

function conflictEdits(tokens: readonly Token[], index: number): Edit[] {
  const depth = tokens[index]?.depth ?? 0;
  const from = tokens.findIndex((token, place) => place > index && token.depth === depth && token.text === "do");
  if (from < 0) return [];
  const isUpdate = tokens[from + 1]?.text === "update";
  const to = isUpdate ? clauseEnd(tokens, from) : from + 2;
  const end = tokens[to - 1]?.end ?? 0;
  const removed = { start: tokens[index]?.start ?? 0, end, to: "" };
  return isUpdate ? [removed, { start: tokens[from]?.start ?? 0, end, to: "do nothing" }] : [removed];
}

/** Behind the clause that begins here. */
function clauseEnd(tokens: readonly Token[], index: number): number {
  const depth = tokens[index]?.depth ?? 0;
  const ends = new Set([";", "for", "returning", "loop", "limit", "rows", "into", "union"]);
  for (let place = index + 1; place < tokens.length; place += 1) {
    const token = tokens[place];
    if (token === undefined || token.depth < depth) return place;
    if (token.depth === depth && ends.has(token.text)) return place;
  }
  return tokens.length;
}

function reversed(sql: string, tokens: readonly Token[], index: number): Edit {
  const to = clauseEnd(tokens, index + 1);
  const depth = tokens[index]?.depth ?? 0;
  const keys: string[] = [];
  let first = index + 2;
  for (let place = first; place <= to; place += 1) {
    const isEnd = place === to || (tokens[place]?.depth === depth && tokens[place]?.text === ",");
    if (!isEnd) continue;
    keys.push(turned(sql.slice(tokens[first]?.start, tokens[place - 1]?.end)));
    first = place + 1;
  }
  return { start: tokens[index]?.start ?? 0, end: tokens[to - 1]?.end ?? 0, to: `order by ${keys.join(", ")}` };
}

function turned(key: string): string {
  if (/\bdesc$/.test(key)) return key.replace(/\s+desc$/, "");
  return key.endsWith("nulls first") ? key.replace(/nulls first$/, "desc nulls last") : `${key} desc`;
}

/** `coalesce(a, b)` without its default. */
function withoutLast(sql: string, tokens: readonly Token[], index: number): Edit[] {
  const depth = (tokens[index]?.depth ?? 0) + 1;
  const close = tokens.findIndex((token, place) => place > index + 1 && token.depth < depth);
  const comma = tokens.findLastIndex(
    (token, place) => place > index && place < close && token.depth === depth && token.text === ",",
  );
  const start = tokens[comma]?.start;
  const end = tokens[close]?.start;
  if (start === undefined || end === undefined) return [];
  const whole = (last: number) => sql.slice(tokens[index]?.start, last);
  return [{ start, end, to: "", shown: { from: whole(end + 1), to: `${whole(start)})` } }];
}

/** Shown with its arguments, so that one knows which one it is. */
function called(sql: string, tokens: readonly Token[], index: number, to: string): Edit {
  const token = tokens[index];
  const close = tokens.findIndex((other, place) => place > index + 1 && other.depth === token?.depth);
  const rest = sql.slice(token?.end, tokens[close]?.end);
  return {
    start: token?.start ?? 0,
    end: token?.end ?? 0,
    to,
    shown: { from: `${token?.text}${rest}`, to: `${to}(…)` },
  };
}

/** Shown with what stands left and right of it. */
function around(sql: string, tokens: readonly Token[], index: number, edit: Edit): Edit {
  const start = tokens[Math.max(0, index - 3)]?.start ?? edit.start;
  const end = tokens[Math.min(tokens.length - 1, index + 3)]?.end ?? edit.end;
  const from = sql.slice(start, end);
  const to = sql.slice(start, edit.start) + edit.to + sql.slice(edit.end, end);
  return { ...edit, shown: { from, to } };
}
