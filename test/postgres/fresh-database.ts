/** Makes databases on any server, inside a test run or out of one. */
import { createHash, randomBytes } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { Client } from "pg";
import { migrate, migrationSql } from "../../src/postgres/migrate.ts";

export interface FreshDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** What the tests add to layover's own. */
const additions = ["violations.sql", "rules-of-states.sql", "emptying.sql"]
  .map((file) => readFileSync(new URL(file, import.meta.url), "utf8"))
  .join("\n");

/**
 * A database in which layover is installed and nothing has happened. About 20 ms, on every version. It refuses a row that
 * breaks one of rules-of-states.sql, and has `layover_test.violations`.
 */
export async function freshDatabase(serverUrl: string): Promise<FreshDatabase> {
  return await createDatabase(serverUrl, await template(serverUrl));
}

/** A database in which there is nothing at all. */
export async function emptyDatabase(serverUrl: string): Promise<FreshDatabase> {
  return await createDatabase(serverUrl, "template0");
}

const templates = new Map<string, Promise<string>>();

/** Copying a migrated database takes a third of the time of migrating a fresh one. Each state of the SQL has its own. */
function template(serverUrl: string): Promise<string> {
  // Who tries mutants of the SQL names the template in which there is one.
  const given = process.env["TEST_TEMPLATE"];
  if (given !== undefined) return Promise.resolve(given);
  const known = templates.get(serverUrl) ?? makeTemplate(serverUrl);
  templates.set(serverUrl, known);
  return known;
}

/** The name of the template for this SQL of layover. */
export function templateName(sql: string): string {
  const digest = createHash("sha256").update(`${sql}${additions}`).digest("hex");
  return `layover_template_${digest.slice(0, 16)}`;
}

async function makeTemplate(serverUrl: string): Promise<string> {
  const name = templateName(migrationSql());
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
        await client.query(additions);
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

async function createDatabase(serverUrl: string, from: string): Promise<FreshDatabase> {
  const name = `layover_test_${randomBytes(8).toString("hex")}`;
  // By default Postgres writes each page to its log: 37 ms instead of 24 (PostgreSQL 15, fsync off, in memory).
  await onServer(serverUrl, `create database ${name} template ${from} strategy file_copy`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => {
      const file = process.env["TEST_CALLED"];
      if (file !== undefined) await noteCalled(url.href, file);
      await onServer(serverUrl, `drop database if exists ${name} with (force)`);
    },
  };
}

/** Appends to a file which functions of layover were called in a database, a name a line. The server has to count them. */
async function noteCalled(url: string, file: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    // A session tells what it has called when it ends, at the latest.
    await client.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    const { rows } = await client.query("select funcname from pg_stat_user_functions where schemaname = 'layover'");
    appendFileSync(file, rows.map(({ funcname }) => `${funcname}\n`).join(""));
  } finally {
    await client.end();
  }
}

function databaseName(url: string): string {
  return new URL(url).pathname.slice(1);
}

/** Sends one statement, or several, by a connection of its own. */
export async function onServer(serverUrl: string, statement: string): Promise<void> {
  const server = new Client(serverUrl);
  await server.connect();
  try {
    await server.query(statement);
  } finally {
    await server.end();
  }
}
