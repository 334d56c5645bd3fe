/** What whoever asks for an invocation learns of it: whether the turns were claimed, so far as they can be. */
import { expect, test } from "vitest";
import { type Query, QueryError } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import { Registry } from "../../src/engine/registry.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import { testDatabase } from "../postgres/database.ts";

const database = testDatabase({ perTest: true });

const turns = [{ runId: "01900000-0000-7000-8000-000000000000", turn: 1 }];

function engineOn(query: Query, errors: unknown[]): Engine {
  return new Engine({
    calls: makeCalls({ query, namespace: "default", alarm: async () => {} }),
    registry: new Registry([]),
    dispatch: async () => {},
    onError: (error) => void errors.push(error),
  });
}

/** A database as it is known by an address. */
const at = (endpoint: string, query: (...call: Parameters<Query>) => ReturnType<Query>): Query =>
  Object.assign((...call: Parameters<Query>) => query(...call), { endpoint });

test("an invocation could claim where the database has answered, also that there is nothing to claim", async () => {
  const errors: unknown[] = [];
  expect(await engineOn(database.query, errors).carryOut(turns)).toBe(true);
  expect(errors).toEqual([]);
});

test("it could not where the database failed", async () => {
  const errors: unknown[] = [];
  const denied = new QueryError("permission denied", { sqlState: "42501", isRolledBack: true });
  const query = at("here", async (text, parameters) => {
    if (text.includes("claim_turns")) throw denied;
    return await database.query(text, parameters);
  });
  const failures: unknown[] = [];
  const onClaimFailed = (error: unknown) => void failures.push(error);
  expect(await engineOn(query, errors).carryOut(turns, { onClaimFailed })).toBe(false);
  expect(errors).toEqual([denied]);
  expect(failures).toEqual([denied]);
});

test("it could not where the database is a copy", async () => {
  const errors: unknown[] = [];
  await engineOn(at("production", database.query), errors).carryOut(turns);
  expect(await engineOn(at("copy", database.query), errors).carryOut(turns)).toBe(false);
  expect(errors).toMatchObject([{ code: "wrong_environment" }]);
});
