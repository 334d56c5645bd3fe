/** What every adapter of Postgres promises, whatever its driver does. */
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Query, QueryError } from "../../src/core/ports.ts";

export interface OpenQuery {
  /** The adapter's query, on an empty database. */
  readonly query: Query;
  close(): Promise<void>;
}

export interface Adapter {
  readonly name: string;
  open(): Promise<OpenQuery>;
  readonly endpoint: RegExp;
  /** Answers what must never be seen: passwords. */
  readonly secrets: () => readonly string[];
}

export async function failureOf(call: Promise<unknown>): Promise<QueryError> {
  const failure: unknown = await call.then(
    (answer) => new Error(`It did not fail, but answered ${inspect(answer)}.`),
    (error: unknown) => error,
  );
  if (failure instanceof QueryError) return failure;
  throw failure;
}

/** Asks the database that is open when a test begins. */
type Ask = (...call: Parameters<Query>) => ReturnType<Query>;

export function describeQuery({ name, open, endpoint, secrets }: Adapter): void {
  describe(`the query of ${name}`, () => {
    let opened: OpenQuery;
    let query: Query;
    const ask: Ask = (...call) => query(...call);
    const unhandled: unknown[] = [];
    const remember = (reason: unknown) => unhandled.push(reason);

    beforeAll(async () => {
      process.on("unhandledRejection", remember);
      opened = await open();
      query = opened.query;
      await query("create table account (id integer primary key, owner text unique)");
      await query("create sequence calls");
    });

    afterAll(async () => {
      await opened.close();
      process.off("unhandledRejection", remember);
    });

    describeJson(ask);
    describeRows(ask);
    describeSending(ask);
    describeFailing(ask, unhandled);

    test("names its database without credentials or port", async () => {
      expect(query.endpoint).toMatch(endpoint);
      for (const secret of secrets()) expect(inspect(query, { depth: 10, showHidden: true })).not.toContain(secret);
      const failed = await failureOf(query("selekt 1"));
      for (const secret of secrets()) expect(inspect(failed, { depth: 10, showHidden: true })).not.toContain(secret);
    });
  });
}

function describeJson(ask: Ask): void {
  const roundTrip = async (value: unknown) => {
    const [row] = await ask("select $1::json as value", [JSON.stringify(value)]);
    return row?.["value"];
  };

  describe("carries values", () => {
    test.each([
      ["an object", { a: [1, 2.5, true, null, { b: "c" }], z: 1 }],
      ["a string", "plain"],
      ["a number", -1.25e-7],
      ["null in json", null],
      ["text in many scripts", "Grüße, 世界, \u{1F6EB}, \u202E, \u0301"],
      ["U+0000, which jsonb refuses", { "\u0000": "a\u0000b" }],
      ["half a surrogate pair", "\uD800"],
      ["a key called __proto__", JSON.parse('{"__proto__": 1}')],
      ["quotes, backslashes and dollars", "'; drop table account; -- \\ $1 $$"],
    ])("%s, in json out and in", async (_, value) => {
      expect(await roundTrip(value)).toEqual(value);
    });

    test("two megabytes of them", async () => {
      const value = { text: "ü".repeat(1024 * 1024) };
      expect(await roundTrip(value)).toEqual(value);
    });

    test("json as it was written, not as jsonb would have it", async () => {
      const [row] = await ask(`select '{"b":1,"a":2}'::json as value`);
      expect(Object.keys(Object(row?.["value"]))).toEqual(["b", "a"]);
    });
  });
}

function describeRows(ask: Ask): void {
  describe("answers rows", () => {
    test("null as null, to Postgres and from it", async () => {
      expect(await ask("select $1::json as json, $2::text is null as is_null", [null, null])).toEqual([
        { json: null, is_null: true },
      ]);
    });

    test("numbers and booleans as themselves, and everything else as text", async () => {
      const [row] = await ask(
        `select 7 as int, 0.5::float8 as float, false as no, 'x' as text, 9007199254740993 as big,
          timestamptz '2026-01-02 03:04:05.678Z' at time zone 'UTC' as time, $1::integer + 1 as sum, $2::boolean as yes`,
        [1, "true"],
      );
      expect(row).toEqual({
        int: 7,
        float: 0.5,
        no: false,
        text: "x",
        big: "9007199254740993",
        time: "2026-01-02 03:04:05.678",
        sum: 2,
        yes: true,
      });
    });

    test("many rows in order, and none", async () => {
      const rows = await ask("select n from generate_series(1, 1000) n");
      expect(rows.map((row) => row["n"])).toEqual(Array.from({ length: 1000 }, (_, index) => index + 1));
      expect(await ask("select 1 where false")).toEqual([]);
      expect(await ask("update account set owner = owner where false")).toEqual([]);
    });
  });
}

function describeSending(ask: Ask): void {
  describe("sends", () => {
    const called = async () => Number((await ask("select last_value::int as n from calls"))[0]?.["n"]);

    test("each call exactly once, whether it succeeds or fails", async () => {
      const [first] = await ask("select nextval('calls')::int as n");
      const failed = await failureOf(ask("select nextval('calls') / 0"));
      expect(failed.sqlState).toBe("22012");
      expect(await called()).toBe(Number(first?.["n"]) + 1);
    });

    test("fifty calls at once, each with its own answer", async () => {
      const before = await called();
      const calls = Array.from({ length: 50 }, async (_, index) => {
        const [row] = await ask("select $1::int as mine, nextval('calls') is not null as is_counted", [index]);
        return row?.["mine"];
      });
      expect(await Promise.all(calls)).toEqual(Array.from({ length: 50 }, (_, index) => index));
      expect(await called()).toBe(before + 50);
    });

    test("no more than one statement a call, with or without parameters", async () => {
      for (const parameters of [[], ["a"]]) {
        const using = parameters.length > 0 ? "select $1::text" : "select 1";
        const failed = await failureOf(ask(`${using}; insert into account values (900, 'smuggled')`, parameters));
        expect(failed).toMatchObject({ sqlState: "42601", isRolledBack: true });
      }
      expect(await ask("select from account where id = 900")).toEqual([]);
    });

    test("each call in a transaction of its own, at read committed", async () => {
      expect(await ask("show transaction_isolation")).toEqual([{ transaction_isolation: "read committed" }]);
      const [first] = await ask("select pg_current_xact_id()::text as id");
      const [second] = await ask("select pg_current_xact_id()::text as id");
      expect(first?.["id"]).not.toBe(second?.["id"]);
    });
  });
}

function describeFailing(ask: Ask, unhandled: readonly unknown[]): void {
  describe("fails", () => {
    test("with Postgres' code and message, certain that nothing happened", async () => {
      const failed = await failureOf(ask("select * from no_such_table"));
      expect(failed).toMatchObject({ sqlState: "42P01", isRolledBack: true });
      expect(failed.message).toContain('relation "no_such_table" does not exist');
    });

    test("with a SQLSTATE of layover's own", async () => {
      const raise = "do $$ begin raise exception 'not like this' using errcode = 'LO001'; end $$";
      expect(await failureOf(ask(raise))).toMatchObject({ sqlState: "LO001", message: "not like this" });
    });

    test("a constraint, leaving nothing of the statement behind", async () => {
      await ask("insert into account values (1, 'ann')");
      const insert = ask("insert into account values (2, 'bob'), (3, 'ann')");
      expect(await failureOf(insert)).toMatchObject({ sqlState: "23505", isRolledBack: true });
      expect(await ask("select id from account order by id")).toEqual([{ id: 1 }]);
    });

    test("where a deferred constraint refuses the COMMIT, though the statement itself went well", async () => {
      await ask(`create table promise (id integer primary key,
        friend integer references promise deferrable initially deferred)`);
      const insert = ask("insert into promise values (1, 2) returning id");
      expect(await failureOf(insert)).toMatchObject({ sqlState: "23503", isRolledBack: true });
      expect(await ask("select from promise")).toEqual([]);
    });

    test("for values that Postgres does not take", async () => {
      expect(await failureOf(ask("select $1::text", ["a\u0000b"]))).toMatchObject({ isRolledBack: true });
      expect(await failureOf(ask("select $1::boolean", ["perhaps"]))).toMatchObject({ sqlState: "22P02" });
      expect(await failureOf(ask("select $1::json", ["{"]))).toMatchObject({ sqlState: "22P02" });
    });

    test("and goes on working", async () => {
      await failureOf(ask("selekt 1"));
      expect(await ask("select 1 as one")).toEqual([{ one: 1 }]);
    });

    test("without saying the values it was called with", async () => {
      await ask("insert into account values (7, 'hush-hush') on conflict do nothing");
      const failed = await failureOf(ask("insert into account values (8, $1)", ["hush-hush"]));
      expect(failed.sqlState).toBe("23505");
      expect(inspect(failed, { depth: 10, showHidden: true })).not.toContain("hush-hush");
    });

    test("in the caller's hands only: no rejection is left unhandled", async () => {
      await failureOf(ask("selekt 1"));
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(unhandled).toEqual([]);
    });
  });
}
