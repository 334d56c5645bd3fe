/**
 * Conditions of SQL, taken apart: what stands between `and` becomes true, what stands between `or` becomes false, and a
 * condition of one part becomes what would make it meaningless.
 */
import type { Edit } from "./edit.ts";
import type { Token } from "./sql-tokens.ts";

const begins = new Set(["where", "if", "elsif", "when", "on", "while"]);
const notBegun = new Set(["conflict", "constraint"]);
const notBegunAfter = new Set(["end", "exception", "distinct"]);
/** Words that end an expression, where they stand at its own depth. */
const stops = new Set(
  "then else when loop group order limit for returning union into from where join left cross on do set as offset rows".split(
    " ",
  ),
);
/** Tokens after which an expression begins. */
const leads = new Set([...begins, ..."select return then else and or not set".split(" "), ":=", ",", "=", "returning"]);

interface Stretch {
  /** Index of the first token. */
  readonly from: number;
  /** Index behind the last token. */
  readonly to: number;
}

export function conditionEdits(tokens: readonly Token[]): Edit[] {
  const edits: Edit[] = [];
  const covered = new Set<number>();
  const take = (stretch: Stretch, alone: readonly string[]): void => {
    const found = partsOf(tokens, stretch, alone, covered);
    edits.push(...found);
  };
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== "word" || !begins.has(token.text)) continue;
    const [before, after] = [tokens[index - 1]?.text, tokens[index + 1]?.text ?? ""];
    if (notBegun.has(after) || notBegunAfter.has(before ?? "") || isOfValues(tokens, index) || isOfIndex(tokens, index))
      continue;
    const isRowFilter = token.text === "where" || token.text === "on";
    take({ from: index + 1, to: endOf(tokens, index + 1) }, isRowFilter ? ["true"] : ["true", "false"]);
  }
  for (const [index, token] of tokens.entries()) {
    if (!isJunction(tokens, index) || covered.has(index) || isOfException(tokens, index)) continue;
    take({ from: beginOf(tokens, index, token.depth), to: endOf(tokens, index) }, []);
  }
  return edits;
}

/** Tells whether this is a `when` of `case x when 1 then …`, which has values and no conditions. */
function isOfValues(tokens: readonly Token[], index: number): boolean {
  const depth = tokens[index]?.depth ?? 0;
  if (tokens[index]?.text !== "when" || depth === 0) return false;
  const first = tokens.findLastIndex((token, place) => place < index && token.depth < depth) + 1;
  return tokens[first - 1]?.text === "case" && tokens[first]?.text !== "when";
}

/** Tells whether this is the `where` of `on conflict (a) where …`, which names a partial index. */
function isOfIndex(tokens: readonly Token[], index: number): boolean {
  const depth = tokens[index]?.depth ?? 0;
  if (tokens[index]?.text !== "where" || tokens[index - 1]?.text !== ")") return false;
  const open = tokens.findLastIndex((token, place) => place < index - 1 && token.depth === depth);
  return tokens[open]?.text === "(" && tokens[open - 1]?.text === "conflict";
}

function isJunction(tokens: readonly Token[], index: number): boolean {
  const token = tokens[index];
  return token?.kind === "word" && (token.text === "and" || token.text === "or");
}

/** Tells whether the token is in `exception when this or that then`, which has names and no condition. */
function isOfException(tokens: readonly Token[], index: number): boolean {
  for (let at = index; at >= 0; at -= 1) {
    const text = tokens[at]?.text;
    if (text === ";" || text === "then") return false;
    if (text === "exception") return true;
  }
  return false;
}

function endOf(tokens: readonly Token[], from: number): number {
  const depth = tokens[from]?.depth ?? 0;
  for (let at = from; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token === undefined || token.depth < depth) return at;
    if (token.depth > depth) continue;
    if (token.text === ";" || token.text === ",") return at;
    if (token.kind === "word" && stops.has(token.text) && tokens[at - 1]?.text !== "distinct") return at;
  }
  return tokens.length;
}

function beginOf(tokens: readonly Token[], from: number, depth: number): number {
  for (let at = from - 1; at >= 0; at -= 1) {
    const token = tokens[at];
    if (token === undefined || token.depth < depth) return at + 1;
    if (token.depth > depth || isJunction(tokens, at) || token.text === "not") continue;
    if (token.text === ";") return at + 1;
    if (!leads.has(token.text)) continue;
    // `set x = a and b`, but not `where x = a and b`, which is known already.
    if (token.text !== "=" || isAssignment(tokens, at)) return at + 1;
  }
  return 0;
}

export function isAssignment(tokens: readonly Token[], equals: number): boolean {
  const depth = tokens[equals]?.depth ?? 0;
  const before = tokens[equals - 2];
  if (before === undefined || before.depth !== depth || (before.text !== "set" && before.text !== ",")) return false;
  for (let at = equals - 2; at >= 0; at -= 1) {
    const token = tokens[at];
    if (token === undefined || token.depth < depth) return false;
    if (token.depth > depth || token.kind !== "word") continue;
    if (token.text === "set") return true;
    if (["select", "where", "values", "returning", "when", "order"].includes(token.text)) return false;
  }
  return false;
}

function partsOf(tokens: readonly Token[], stretch: Stretch, alone: readonly string[], covered: Set<number>): Edit[] {
  const ors = split(tokens, stretch, "or", covered);
  return ors.flatMap((or) => {
    const ands = split(tokens, or, "and", covered);
    const whole = ors.length > 1 ? [replaced(tokens, or, "false")] : [];
    const parts = ands.flatMap((and) => {
      const own = ands.length > 1 ? ["true"] : ors.length > 1 ? [] : alone;
      const inner = withinParentheses(tokens, and);
      return [
        ...own.map((value) => replaced(tokens, and, value)),
        ...(inner === undefined ? [] : partsOf(tokens, inner, [], covered)),
      ];
    });
    return [...whole, ...parts];
  });
}

function split(tokens: readonly Token[], { from, to }: Stretch, word: string, covered: Set<number>): Stretch[] {
  const depth = tokens[from]?.depth ?? 0;
  const parts: Stretch[] = [];
  let first = from;
  for (let at = from; at < to; at += 1) {
    if (tokens[at]?.depth !== depth || tokens[at]?.text !== word || tokens[at]?.kind !== "word") continue;
    covered.add(at);
    parts.push({ from: first, to: at });
    first = at + 1;
  }
  return [...parts, { from: first, to }].filter((part) => part.to > part.from);
}

/** Answers the inside of `( … )` or `not ( … )`, if that is all there is. */
function withinParentheses(tokens: readonly Token[], { from, to }: Stretch): Stretch | undefined {
  const first = tokens[from]?.text === "not" ? from + 1 : from;
  const depth = tokens[first]?.depth ?? 0;
  if (tokens[first]?.text !== "(" || tokens[to - 1]?.text !== ")") return undefined;
  for (let at = first + 1; at < to - 1; at += 1) if (tokens[at]?.depth === depth) return undefined;
  return { from: first + 1, to: to - 1 };
}

function replaced(tokens: readonly Token[], { from, to }: Stretch, by: string): Edit {
  return { start: tokens[from]?.start ?? 0, end: tokens[to - 1]?.end ?? 0, to: by };
}
