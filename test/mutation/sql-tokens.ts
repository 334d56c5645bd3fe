/**
 * The tokens of SQL and PL/pgSQL, with their places and how deep they lie. Comments and spaces are no tokens; what
 * stands between `$$` and `$$` is read like the rest, for it is the code.
 *
 * Depth counts parentheses, brackets and `case … end`: so `then` of a nested case is never taken for the one of an
 * `if`.
 */

export interface Token {
  readonly kind: "word" | "number" | "string" | "operator" | "mark";
  /** The token's text, in lower case unless it is a string. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly depth: number;
}

const patterns = [
  ["space", /\s+|--[^\n]*|\/\*[\s\S]*?\*\//y],
  ["string", /'(?:[^']|'')*'/y],
  ["word", /[a-z_$][\w$]*|"[^"]*"/iy],
  ["number", /\d+(?:\.\d+)?/y],
  ["operator", /:=|::|[-+*/<>=~!@#%^&|`?]+/y],
  ["mark", /[()[\],;.:]/y],
] as const;

export function tokensOf(sql: string): Token[] {
  const tokens: Token[] = [];
  const open: string[] = [];
  for (let at = 0; at < sql.length; ) {
    const { kind, text } = next(sql, at);
    const word = text.toLowerCase();
    const closes = word === ")" || word === "]" || (word === "end" && open.at(-1) === "case");
    if (closes) open.pop();
    if (kind !== "space") {
      const said = kind === "string" ? text : word;
      tokens.push({ kind, text: said, start: at, end: at + text.length, depth: open.length });
    }
    if (word === "(" || word === "[" || (word === "case" && kind === "word")) open.push(word);
    at += text.length;
  }
  return tokens;
}

function next(sql: string, at: number) {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at;
    const text = pattern.exec(sql)?.[0];
    if (text !== undefined) return { kind, text };
  }
  throw new Error(`no token of SQL begins here: ${sql.slice(at, at + 40)}`);
}
