/** What is changed in a function, and what it is called. */
import { describe, expect, test } from "vitest";
import { sqlMutants } from "./sql-mutants.ts";

/** The mutants of a body, without the name of the function. */
function changes(body: string, language = "plpgsql"): string[] {
  const sql = `-- heading\ncreate or replace function layover.f(p jsonb) returns json\nlanguage ${language} volatile as $$\n${body}\n$$;\n`;
  return sqlMutants({ name: "f", file: "functions/f.sql", sql }).map(({ id }) => id.slice("f: ".length));
}
const inBody = (statement: string) => changes(`begin\n  ${statement}\nend`);

describe("the mutants of a function", () => {
  test("drop each part of a condition", () => {
    expect(changes("select x from t where a = 1 and (b or not c) and d between 1 and 2", "sql")).toContain(
      "a = 1 → true",
    );
    expect(changes("select x from t where a = b and (c is null or not d)", "sql")).toEqual([
      "a = b → true",
      "(c is null or not d) → true",
      "c is null → false",
      "not d → false",
    ]);
  });

  test("make a condition of one part hold always, and never", () => {
    expect(inBody("if not found then return a; end if;")).toEqual(["not found → true", "not found → false"]);
    expect(inBody("return case when a then b else c end;")).toEqual(["a → true", "a → false"]);
    expect(inBody("return case a when 'b' then c else d end;")).toEqual([]);
    expect(inBody("return query select distinct on (a) b;")).toEqual([]);
    expect(inBody("exit when not found;")).toEqual(["not found → true", "not found → false"]);
  });

  test("do not take the end of a nested case for the end of a condition", () => {
    expect(inBody("if case when a then b end = c and d then return e; end if;")).toEqual([
      "case when a then b end = c → true",
      "a → true",
      "a → false",
      "d → true",
    ]);
  });

  test("drop each lock, and that it skips what is locked", () => {
    expect(inBody("perform from t for update skip locked;")).toEqual([
      "for update skip locked → nothing",
      "skip locked → nothing",
    ]);
  });

  test("drop conflict clauses, and what they do", () => {
    expect(inBody("insert into t as q (a) values (1) on conflict (a) do nothing;")).toContain(
      "on conflict (a) do nothing → nothing",
    );
    const update = inBody("insert into t (a) values (1) on conflict (a) do update set b = excluded.b, c = 2;");
    expect(update).toContain("on conflict (a) do update set b = excluded.b, c = 2 → nothing");
    expect(update).toContain("do update set b = excluded.b, c = 2 → do nothing");
  });

  test("turn orders around, and drop limits", () => {
    expect(changes("select x from t order by a, b desc, c nulls first limit 1", "sql")).toEqual([
      "order by a, b desc, c nulls first → order by a desc, b, c desc nulls last",
      "limit 1 → nothing",
    ]);
  });

  test("move boundaries, swap extremes, drop defaults and steps of one", () => {
    expect(changes("select a < b", "sql")).toEqual(["select a < b → select a <= b"]);
    expect(changes("select least(a, b)", "sql")).toEqual(["least(a, b) → greatest(…)"]);
    expect(changes("select coalesce(a, b)", "sql")).toEqual(["coalesce(a, b) → coalesce(a)"]);
    expect(changes("select a + 1", "sql")).toEqual(["select a + 1 → select a"]);
  });

  test("drop statements and assignments", () => {
    expect(inBody("perform layover.g(p);")).toEqual(["perform layover.g(p); → null;"]);
    expect(inBody("v_now := layover.now();")).toEqual(["v_now := layover.now(); → null;"]);
    expect(inBody("update t set a = 1, b = 2;")).toEqual([
      "update t set a = 1, b = 2; → null;",
      "a = 1, → nothing",
      ", b = 2 → nothing",
    ]);
  });

  test("leave alone what is declared, quoted, or a name", () => {
    expect(changes("declare\n  a constant integer := 1;\nbegin\n  raise exception 'if a and b then';\nend")).toEqual(
      [],
    );
    expect(inBody("return a; exception when this or that then raise;")).toEqual([]);
  });

  test("have ids that stand when lines move, and tell which of several alike", () => {
    const [one, two, ...none] = sqlMutants({
      name: "f",
      file: "functions/f.sql",
      sql: "as $$ select a < b, a < b $$",
    }).map(({ id, line }) => ({ id, line }));
    expect([one, two, none]).toEqual([
      { id: "f: select a < b, a → select a <= b, a", line: 1 },
      { id: "f: b, a < b → b, a <= b", line: 1 },
      [],
    ]);
    const twice = "as $$ select f(coalesce(a, b)),\n f(coalesce(a, b)) $$";
    expect(
      sqlMutants({ name: "f", file: "functions/f.sql", sql: twice }).map(({ id, line }) => `${line} ${id}`),
    ).toEqual(["1 f: coalesce(a, b) → coalesce(a)", "2 f: coalesce(a, b) → coalesce(a) (2)"]);
  });
});
