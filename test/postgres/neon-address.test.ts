import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LayoverError } from "../../src/core/errors.ts";
import { endpointOf } from "../../src/postgres/endpoint.ts";
import { neon } from "../../src/postgres/neon.ts";
import { testDatabase } from "./database.ts";
import { type NeonEndpoint, openNeonEndpoint } from "./neon-endpoint.ts";

describe("the connection string", () => {
  const database = testDatabase({ isEmpty: true });
  let endpoint: NeonEndpoint;

  beforeEach(async () => {
    endpoint = await openNeonEndpoint(database.url);
  });
  afterEach(async () => await endpoint.close());

  test.each([
    ["postgresql://ann:hush-hush@ep-a-1-pooler.eu.aws.neon.tech/main?sslmode=require", "ep-a-1.eu.aws.neon.tech/main"],
    ["postgres://ann:hush-hush@ep-a-1.eu.aws.neon.tech/main", "ep-a-1.eu.aws.neon.tech/main"],
    [
      "postgres://ann:hush-hush@EP-A-1.eu.aws.neon.tech:5432/My%20Shop?sslmode=require",
      "ep-a-1.eu.aws.neon.tech/my shop",
    ],
    ["postgres://ann:hush%2Fhush@ep-a-1.eu.aws.neon.tech/größe", "ep-a-1.eu.aws.neon.tech/größe"],
  ])("%s leads to %s, as it does for who connects to it", (connectionString, endpoint) => {
    const query = neon(connectionString);
    expect(query.endpoint).toBe(endpoint);
    expect(endpointOf({ connectionString })).toBe(endpoint);
    expect(inspect(query, { depth: 10, showHidden: true })).not.toContain("hush-hush");
  });

  test("may end in a line break, as secrets do that were piped in", async () => {
    const query = neon(` ${endpoint.url}\n`, { fetchEndpoint: endpoint.fetchEndpoint });
    expect(await query("select 1 as one")).toEqual([{ one: 1 }]);
    expect(query.endpoint).toBe(endpointOf({ connectionString: endpoint.url }));
  });

  test.each([
    "postgres://ann:hush-hush#1@db.example.com/shop",
    "postgres://ann:hush-hush/1@db.example.com/shop",
    "https://ann:hush-hush@db.example.com/shop",
    "postgres://db.example.com/hush-hush",
    "postgres://ann:hush-hush@db.example.com",
    "hush-hush",
  ])("%s is refused before any statement, without being quoted", (connectionString) => {
    const refusal = refusalOf(connectionString);
    expect(refusal).toMatchObject({ code: "invalid_request", message: "neon() was given no valid connection string" });
    expect(refusal.hint).toContain("postgresql://user:password@host/database");
    expect(inspect(refusal, { depth: 10, showHidden: true })).not.toContain("hush-hush");
  });

  test.each([
    "postgres://ann:hush-hush@localhost/shop",
    "postgres://ann:hush-hush@127.0.0.1:5432/shop",
    "postgres://ann:hush-hush@[::1]/shop",
  ])("%s leads to no host of Neon's, and needs to be told where its statements go", (connectionString) => {
    const refusal = refusalOf(connectionString);
    expect(refusal).toMatchObject({ code: "invalid_request", hint: expect.stringContaining("layover/pg") });
    expect(inspect(refusal, { depth: 10, showHidden: true })).not.toContain("hush-hush");
    expect(() => neon(connectionString, { fetchEndpoint: "http://localhost:5432/sql" })).not.toThrow();
    expect(() => neon(connectionString, { fetchEndpoint: "localhost" })).toThrow(
      "fetchEndpoint of neon() is no address",
    );
  });

  test("that is missing points to the variable that was not set", () => {
    for (const missing of [JSON.parse('{"nothing": true}').url, ""]) {
      expect(refusalOf(missing)).toMatchObject({
        message: "the connection string for neon() is missing",
        hint: "Set the variable that it is read from, such as DATABASE_URL.",
      });
    }
  });

  function refusalOf(connectionString: string): LayoverError {
    try {
      neon(connectionString);
    } catch (error) {
      if (error instanceof LayoverError) return error;
      throw error;
    }
    throw new Error("It was not refused.");
  }
});
