/**
 * Neon's own driver, against which `neon` and the local endpoint are held: both follow a protocol that is written down
 * nowhere else, so without a third party they could be wrong together.
 */
import {
  neon as driverFor,
  errorFields,
  NeonDbError,
  type NeonQueryFunction,
  neonConfig,
} from "@neondatabase/serverless";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Parameter, Query } from "../../src/core/ports.ts";
import { parserOf } from "../../src/postgres/columns.ts";
import { neon } from "../../src/postgres/neon.ts";
import { testDatabase } from "./database.ts";
import { type NeonEndpoint, openNeonEndpoint, refused } from "./neon-endpoint.ts";
import { failureOf } from "./query-conformance.ts";

describe("a request is the one that Neon's driver makes", () => {
  test.each([
    "postgresql://ann:secret@ep-quiet-river-a1b2c3.eu-central-1.aws.neon.tech/main?sslmode=require&channel_binding=require",
    "postgres://ann:secret@ep-quiet-river-a1b2c3-pooler.eu-central-1.aws.neon.tech/main",
    "postgres://ann:secret@ep-quiet-river-a1b2c3.eastus2.azure.neon.tech:5432/main",
    "postgres://ann@EP-QUIET-RIVER.eu-central-1.aws.neon.tech/main",
    "postgres://ann%40shop:a%2Fb%23c%3Fd%25e@db.example.com/my%20shop",
    "postgres://ann:пароль, 世界 'é\"<>@db.example.com/größe",
    "postgres://ann:secret@db.bücher.example/main",
    "postgres://ann:secret@db.example.com/main\n",
  ])("%s", async (connectionString) => {
    const statement = "select $1::int, $2::float8, $3::text, $4::text, $5::text -- ü";
    const values = [1, -0.5e-7, "'\\ \u0000 \uD800 ü", null, ""];
    const theirs = await requestOf(() => driverFor(connectionString).query(statement, values));
    expect(await requestOf(() => neon(connectionString)(statement, values))).toEqual(theirs);
  });
});

/** What is sent where, but for what the driver adds of its own: its name, as the application's. */
async function requestOf(call: () => PromiseLike<unknown>): Promise<unknown> {
  const sent = vi.fn<typeof fetch>().mockResolvedValue(Response.json({ fields: [], rows: [] }));
  vi.stubGlobal("fetch", sent);
  onTestFinished(() => void vi.unstubAllGlobals());
  await call();
  const [[address, { method, body, headers } = {}] = []] = sent.mock.calls;
  const { "neon-connection-string": connectionString = "", ...others } = Object.fromEntries(new Headers(headers));
  const url = new URL(connectionString);
  url.searchParams.delete("application_name");
  return { address, method, body, headers: others, connectionString: url.href };
}

describe("an answer is read as by Neon's driver", () => {
  const database = testDatabase({ isEmpty: true });
  let endpoint: NeonEndpoint;
  let driver: NeonQueryFunction<false, false>;
  let query: Query;

  beforeAll(async () => {
    endpoint = await openNeonEndpoint(database.url);
    neonConfig.fetchEndpoint = endpoint.fetchEndpoint;
    driver = driverFor(endpoint.url);
    query = neon(endpoint.url, { fetchEndpoint: endpoint.fetchEndpoint });
  });
  afterAll(async () => await endpoint.close());

  test.each<[string, Parameter[]]>([
    ["select 1 as int, 0.5::float8 as float, true as yes, 'x' as text, null as nothing, '' as empty", []],
    [`select '{"a": [1, null]}'::json as json, '{"b": "ü"}'::jsonb as jsonb, 'null'::json as null`, []],
    ["select 9007199254740993 as big, 1.50::numeric as exact, '\\xff'::bytea as bytes, '{1,2}'::int[] as list", []],
    ["select $1::int as a, $2::text as b, $3::json as c", [7, "a\u00FCb", '{"\\u0000": "\\ud800"}']],
    ["select n, n as m from generate_series(1, 3) n", []],
    ["select 1 as twice, 2 as twice", []],
    ["select 1 where false", []],
    ["select", []],
    ["create table if not exists account (id integer primary key)", []],
    ["insert into account values (1) on conflict do nothing", []],
  ])("%s", async (text, values) => {
    const types = { getTypeParser: parserOf };
    expect(await query(text, values)).toEqual(await driver.query(text, [...values], { types }));
  });

  test.each<[string, string[]]>([
    ["selekt 1", []],
    ["select * from no_such_table", []],
    ["select 1; select 2", []],
    ["select $1::int", ["x"]],
    ["do $$ begin raise exception 'not like this' using errcode = 'LO001', hint = 'like that'; end $$", []],
    ["insert into account values (7), (7)", []],
  ])("the refusal of %s, with all that Postgres says but the detail", async (text, values) => {
    const theirs = await refusalOf(driver.query(text, values));
    const ours = await failureOf(query(text, values));
    expect(ours).toMatchObject({ message: theirs.message, sqlState: theirs.code, isRolledBack: true });
    expect(fieldsOf(ours.cause)).toEqual({ ...fieldsOf(theirs), detail: undefined });
  });

  test("a status that is not Postgres' own has no code for either", async () => {
    const body = JSON.stringify({ message: "no", code: "40P01", severity: "ERROR" });
    endpoint.next(refused(500, body), refused(500, body));
    expect((await refusalOf(driver.query("select 1"))).code).toBeUndefined();
    expect(await failureOf(query("select 1"))).toMatchObject({ sqlState: undefined, isRolledBack: false });
  });

  test("the local endpoint says of an answer what the driver hands out", async () => {
    const results = await driver.query("select n, 'x' as text from generate_series(1, 2) n", [], { fullResults: true });
    expect(results).toMatchObject({
      command: "SELECT",
      rowCount: 2,
      rows: [
        { n: 1, text: "x" },
        { n: 2, text: "x" },
      ],
      fields: [
        { name: "n", dataTypeID: 23 },
        { name: "text", dataTypeID: 25 },
      ],
    });
    expect(await driver.query("select 1, null", [], { arrayMode: true })).toEqual([[1, null]]);
  });
});

function fieldsOf(error: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(errorFields.map((field) => [field, Reflect.get(Object(error), field)]));
}

async function refusalOf(call: PromiseLike<unknown>): Promise<NeonDbError> {
  const refusal: unknown = await call.then(
    () => "an answer",
    (error: unknown) => error,
  );
  if (refusal instanceof NeonDbError) return refusal;
  throw new Error("Neon's driver was not refused.", { cause: refusal });
}
