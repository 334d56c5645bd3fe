/** Databases for tests: migrated, empty, and nobody else's. */
import { randomBytes } from "node:crypto";
import { Client, Pool } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, inject } from "vitest";
import type { Query } from "../../src/core/ports.ts";
import { migrate, migrationSql } from "../../src/postgres/migrate.ts";
import { pg } from "../../src/postgres/pg.ts";
import { type Clock, turnableClock } from "./clock.ts";

export interface FreshDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A database in which layover is installed and nothing has happened. About 15 ms, on every version. */
export async function freshDatabase(serverUrl: string): Promise<FreshDatabase> {
  return await createDatabase(serverUrl, await template(serverUrl));
}

/** A database in which there is nothing at all. */
export async function emptyDatabase(serverUrl: string): Promise<FreshDatabase> {
  return await createDatabase(serverUrl, "template0");
}

/** The address of the server of this run that has the version. Starts it where nobody asked before. */
export async function postgresUrl(version: string): Promise<string> {
  const answer = await fetch(`${inject("postgres").door}/${version}`);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`There is no PostgreSQL ${version} for this test: ${text}`);
  return text;
}

export interface TestDatabase {
  readonly url: string;
  /** Of node-postgres, for SQL of the test's own. */
  readonly pool: Pool;
  /** What the code under test is given. */
  readonly query: Query;
  /** The database's clock from now on, turned by hand. */
  turnClock(): Promise<Clock>;
}

export interface TestDatabaseOptions {
  /** Default: the newest. */
  readonly version?: string;
  /** One database for each test; default: one for all tests of the file or `describe` that this is called in. */
  readonly perTest?: boolean;
  /** Without layover in it. */
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
    current = { database, pool, query: pg(pool) };
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

/** Runs a suite on the oldest and on the newest PostgreSQL, each with a database of its own. */
export function describeEachPostgres(
  name: string,
  suite: (database: TestDatabase) => void,
  options: Omit<TestDatabaseOptions, "version"> = {},
): void {
  for (const version of inject("postgres").versions) {
    describe(`${name} (${version === "TEST_DATABASE_URL" ? version : `PostgreSQL ${version}`})`, () => {
      suite(testDatabase({ ...options, version }));
    });
  }
}

const templates = new Map<string, Promise<string>>();

/** Copying a migrated database takes a third of the time of migrating a fresh one. Each state of the SQL has its own. */
function template(serverUrl: string): Promise<string> {
  const known = templates.get(serverUrl) ?? makeTemplate(serverUrl);
  templates.set(serverUrl, known);
  return known;
}

async function makeTemplate(serverUrl: string): Promise<string> {
  const name = `layover_template_${await fingerprint(migrationSql())}`;
  const server = new Client(serverUrl);
  await server.connect();
  try {
    // Test files start in several processes at once. The lock is the session's, and ends with it.
    await server.query("select pg_advisory_lock(hashtext('layover test template'))");
    const { rowCount } = await server.query("select from pg_database where datname = $1", [name]);
    if (rowCount === 0) {
      const draft = await createDatabase(serverUrl, "template0");
      const client = new Client(draft.url);
      await client.connect();
      try {
        await migrate(client);
      } finally {
        await client.end();
      }
      await server.query(`alter database ${databaseName(draft.url)} rename to ${name}`);
    }
    return name;
  } finally {
    await server.end();
  }
}

async function fingerprint(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Buffer.from(digest).toString("hex").slice(0, 16);
}

async function createDatabase(serverUrl: string, from: string): Promise<FreshDatabase> {
  const name = `layover_test_${randomBytes(8).toString("hex")}`;
  await onServer(serverUrl, `create database ${name} template ${from}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => await onServer(serverUrl, `drop database if exists ${name} with (force)`),
  };
}

function databaseName(url: string): string {
  return new URL(url).pathname.slice(1);
}

async function onServer(serverUrl: string, statement: string): Promise<void> {
  const server = new Client(serverUrl);
  await server.connect();
  try {
    await server.query(statement);
  } finally {
    await server.end();
  }
}
