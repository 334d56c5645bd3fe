/** Databases for tests: migrated, empty, and nobody else's. */
import { encrypted } from "layover/encryption";
import { Pool } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, inject } from "vitest";
import type { Query } from "../../src/core/ports.ts";
import { pg } from "../../src/postgres/pg.ts";
import { isWhole } from "../size.ts";
import { type Clock, turnableClock } from "./clock.ts";
import { testKeys } from "./encryption/keys.ts";
import { emptyDatabase, type FreshDatabase, freshDatabase } from "./fresh-database.ts";

/** `TEST_ENCRYPTED=1` has any test encrypt what it stores. */
const isEncrypted = process.env["TEST_ENCRYPTED"] !== undefined;

/** Answers the address of this test run's server of a version. Starts the server where nobody asked before. */
export async function postgresUrl(version: string): Promise<string> {
  const answer = await fetch(`${inject("postgres").door}/${version}`);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`There is no PostgreSQL ${version} for this test: ${text}`);
  return text;
}

export interface TestDatabase {
  readonly url: string;
  /** Pool of node-postgres, for SQL of the test's own. */
  readonly pool: Pool;
  /** What the code under test is given. */
  readonly query: Query;
  /** Replaces the database's clock by one that is turned by hand. */
  turnClock(): Promise<Clock>;
}

export interface TestDatabaseOptions {
  /** Default: the newest. */
  readonly version?: string;
  /** One database for each test; default: one for all tests of the file or `describe` that this is called in. */
  readonly perTest?: boolean;
  /** Whether layover is left out of it. */
  readonly isEmpty?: boolean;
}

/** Call it at the top of a test file or `describe`; use what it answers within tests and hooks. */
export function testDatabase(options: TestDatabaseOptions = {}): TestDatabase {
  const version = options.version ?? inject("postgres").versions.at(-1) ?? "18";
  let current: { database: FreshDatabase; pool: Pool; query: Query } | undefined;
  const open = () => {
    if (!current) throw new Error("testDatabase() is open within tests and hooks only.");
    return current;
  };

  const [before, after] = options.perTest ? [beforeEach, afterEach] : [beforeAll, afterAll];
  before(async () => {
    const serverUrl = await postgresUrl(version);
    const database = await (options.isEmpty ? emptyDatabase(serverUrl) : freshDatabase(serverUrl));
    const pool = new Pool({ connectionString: database.url });
    current = { database, pool, query: isEncrypted ? encrypted(pg(pool), testKeys) : pg(pool) };
  });
  after(async () => {
    if (!current) return;
    const { database, pool } = current;
    current = undefined;
    // Not awaited: a connection that a failed test never gave back would be waited for for ever. Dropping cuts it off.
    void pool.end();
    await database.drop();
  });

  return {
    get url() {
      return open().database.url;
    },
    get pool() {
      return open().pool;
    },
    get query() {
      return open().query;
    },
    turnClock: async () => await turnableClock(open().query),
  };
}

type SuiteOptions = Omit<TestDatabaseOptions, "version">;

/** Runs a suite on the oldest and on the newest PostgreSQL, each with a database of its own. */
export function describeEachPostgres(
  name: string,
  suite: (database: TestDatabase) => void,
  options: SuiteOptions = {},
): void {
  describeOn(inject("postgres").versions, name, suite, options);
}

/**
 * Runs a suite on either of them, as the length of its name says, so that each has half of the suites. With
 * `TEST_SIZE=whole` on both.
 */
export function describeSomePostgres(
  name: string,
  suite: (database: TestDatabase) => void,
  options: SuiteOptions = {},
): void {
  const { versions } = inject("postgres");
  const isIts = (_: string, index: number) => isWhole || index === name.length % versions.length;
  describeOn(versions.filter(isIts), name, suite, options);
}

function describeOn(
  versions: readonly string[],
  name: string,
  suite: (database: TestDatabase) => void,
  options: SuiteOptions,
): void {
  for (const version of versions) {
    describe(`${name} (${version === "TEST_DATABASE_URL" ? version : `PostgreSQL ${version}`})`, () => {
      suite(testDatabase({ ...options, version }));
    });
  }
}
