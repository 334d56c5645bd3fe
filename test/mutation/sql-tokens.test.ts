/** What the tokenizer makes of SQL. */
import { describe, expect, test } from "vitest";
import { tokensOf } from "./sql-tokens.ts";

const texts = (sql: string) => tokensOf(sql).map(({ text }) => text);
const depths = (sql: string) => tokensOf(sql).map(({ text, depth }) => `${text}${depth}`);

describe("the tokens of SQL", () => {
  test("are words in lower case, numbers, strings as they stand, operators, and marks", () => {
    expect(texts("Select a.B::int, 'It''s' || $1, 10.5")).toEqual([
      "select",
      "a",
      ".",
      "b",
      "::",
      "int",
      ",",
      "'It''s'",
      "||",
      "$1",
      ",",
      "10.5",
    ]);
  });

  test("leave out comments, and what looks like code in them or in strings", () => {
    expect(texts("a -- and b\n/* or c */ = '-- d'")).toEqual(["a", "=", "'-- d'"]);
  });

  test("go on between dollar quotes, where the code is", () => {
    expect(texts("as $$ begin return 1; end $$;")).toEqual(["as", "$$", "begin", "return", "1", ";", "end", "$$", ";"]);
  });

  test("keep operators of several characters together", () => {
    expect(texts("p->'a'->>'b' ?| c @> d <> e <= f := g")).toEqual([
      "p",
      "->",
      "'a'",
      "->>",
      "'b'",
      "?|",
      "c",
      "@>",
      "d",
      "<>",
      "e",
      "<=",
      "f",
      ":=",
      "g",
    ]);
  });

  test("know where they stand", () => {
    const sql = "  for  update";
    expect(tokensOf(sql).map(({ start, end }) => sql.slice(start, end))).toEqual(["for", "update"]);
  });

  test("lie deeper in parentheses, brackets and cases, whose ends do not", () => {
    expect(depths("f(a[1]) b")).toEqual(["f0", "(0", "a1", "[1", "12", "]1", ")0", "b0"]);
    expect(depths("if case when a then b end then")).toEqual([
      "if0",
      "case0",
      "when1",
      "a1",
      "then1",
      "b1",
      "end0",
      "then0",
    ]);
  });

  test("lie no deeper in blocks of PL/pgSQL, each of which ends with an end too", () => {
    expect(depths("begin if a then b; end if; end")).toEqual([
      "begin0",
      "if0",
      "a0",
      "then0",
      "b0",
      ";0",
      "end0",
      "if0",
      ";0",
      "end0",
    ]);
  });

  test("are refused where none begins", () => {
    expect(() => tokensOf("a \\ b")).toThrow("no token of SQL begins here");
  });
});
