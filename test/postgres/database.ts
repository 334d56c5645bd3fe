/** Databases for tests: migrated, empty, and nobody else's. */
import type { Client, Pool } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, inject } from "vitest";
import type { Query } from "../../src/core/ports.ts";
import { isWhole } from "../size.ts";
import type { Clock } from "./clock.ts";
import { emptyDatabase, freshDatabase } from "./fresh-database.ts";
import { placeInRound } from "./rounds.ts";
import { SharedDatabase } from "./shared-database.ts";

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

/** The database of a test in vitest. */
export interface SuiteDatabase extends TestDatabase {
  /** A connection outside the pool. It is ended after the test, or lent to the next one. */
  session(): Promise<Client>;
}

export interface TestDatabaseOptions {
  /** Default: the newest. */
  readonly version?: string;
  /**
   * Whether each test has a database in which nothing has happened. Tests that change rows alone share one, which is
   * emptied in between, with its warm sessions. Default: one for all tests of the file or `describe` that this is called
   * in, never emptied.
   */
  readonly perTest?: boolean;
  /** Whether each test has a database that no other one has ever used: where real processes may outlive a test, say. */
  readonly isOwn?: boolean;
  /** Whether layover is left out of it. */
  readonly isEmpty?: boolean;
}

/** Call it at the top of a test file or `describe`; use what it answers within tests and hooks. */
export function testDatabase(options: TestDatabaseOptions = {}): SuiteDatabase {
  const version = options.version ?? inject("postgres").versions.at(-1) ?? "18";
  let current: SharedDatabase | undefined;
  const open = (): SharedDatabase => {
    if (!current) throw new Error("testDatabase() is open within tests and hooks only.");
    current.checkClock();
    return current;
  };
  const isPerTest = options.perTest === true || options.isOwn === true;
  const isShared = options.perTest === true && options.isOwn !== true && options.isEmpty !== true;
  const round = options.isOwn === true || options.isEmpty === true ? undefined : placeInRound();
  const drop = async () => {
    const dropped = current;
    current = undefined;
    await dropped?.drop();
  };

  const before = isPerTest ? beforeEach : beforeAll;
  before(async () => {
    if (current !== undefined) return;
    const serverUrl = await postgresUrl(version);
    current = await round?.take();
    current ??= new SharedDatabase(await (options.isEmpty ? emptyDatabase(serverUrl) : freshDatabase(serverUrl)));
  });
  if (isPerTest) {
    afterEach(async ({ task }) => {
      const isKept = isShared && task.result?.state !== "fail" && (await current?.empty());
      if (!isKept) await drop();
    });
  } else afterEach(async () => await current?.takeBack());
  afterAll(async () => {
    if (current !== undefined && (await round?.leave(current))) current = undefined;
    await drop();
  });

  return {
    get url() {
      return open().url;
    },
    get pool() {
      return open().pool;
    },
    get query() {
      return open().query;
    },
    turnClock: async () => {
      if (!current) throw new Error("testDatabase() is open within tests and hooks only.");
      return await current.turnClock();
    },
    session: async () => await open().session(),
  };
}

type SuiteOptions = Omit<TestDatabaseOptions, "version">;

/** Runs a suite on the oldest and on the newest PostgreSQL, each with a database of its own. */
export function describeEachPostgres(
  name: string,
  suite: (database: SuiteDatabase) => void,
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
  suite: (database: SuiteDatabase) => void,
  options: SuiteOptions = {},
): void {
  const { versions } = inject("postgres");
  const isIts = (_: string, index: number) => isWhole || index === name.length % versions.length;
  describeOn(versions.filter(isIts), name, suite, options);
}

function describeOn(
  versions: readonly string[],
  name: string,
  suite: (database: SuiteDatabase) => void,
  options: SuiteOptions,
): void {
  for (const version of versions) {
    describe(`${name} (${version === "TEST_DATABASE_URL" ? version : `PostgreSQL ${version}`})`, () => {
      suite(testDatabase({ ...options, version }));
    });
  }
}
