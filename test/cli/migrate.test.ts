import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { Client } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { migrate as bringUp, checkSchema } from "../../src/postgres/migrate.ts";
import { aSchema } from "../postgres/a-schema.ts";
import { testDatabase } from "../postgres/database.ts";
import { aFolder, layover } from "./layover.ts";

const migrations = readdirSync(new URL("../../src/postgres/migrations", import.meta.url))
  .map((file) => file.replace(".sql", ""))
  .toSorted();

describe("layover migrate", () => {
  const database = testDatabase({ isEmpty: true, isOwn: true });
  const where = () => `${new URL(database.url).host}${new URL(database.url).pathname}`;

  test("brings a database up, once, and checks without changing anything", async () => {
    const env = { DATABASE_URL: database.url };
    const missing = `The database lacks ${migrations.join(", ")}: run migrate.`;
    expect(await layover(["migrate", "--check"], { env })).toEqual({
      status: 1,
      stdout: "",
      stderr: `${where()} is not as this version of layover needs it.\n${missing}\n`,
    });
    const checked = await layover(["migrate", "--check", "--json"], { env });
    expect(checked).toMatchObject({ status: 1, stderr: "" });
    expect(JSON.parse(checked.stdout)).toEqual({
      isUsable: false,
      missing: migrations,
      problems: [missing],
    });

    const first = await layover(["migrate"], { env });
    expect(first).toMatchObject({ status: 0, stderr: "" });
    expect(first.stdout).toMatch(new RegExp(`^\\S+ has now ${migrations.join(", ")}, \\d+ functions\\.\\n$`));
    expect(await layover(["migrate"], { env })).toMatchObject({ status: 0, stdout: `${where()} is up to date.\n` });
    const second = await layover(["migrate", "--json"], { env });
    expect(JSON.parse(second.stdout)).toEqual({ applied: [], functions: 0 });
    expect(await layover(["migrate", "--check"], { env })).toMatchObject({ status: 0, stderr: "" });
  });

  /** The last statement of migrate before it pauses is the commit of its look at who is in the way, which is `holder` here. */
  async function untilItPauses(holder: number): Promise<void> {
    const pausing =
      "select from pg_stat_activity where datname = current_database() and pid <> $1 and query = 'commit'";
    await expect.poll(async () => (await database.query(pausing, [holder])).length).toBe(1);
  }

  test("says who keeps it from a table, and goes on once they have let go", async () => {
    const tables = readFileSync(new URL("../../src/postgres/migrations/0001_tables.sql", import.meta.url), "utf8");
    await bringUp(database.pool, aSchema({ migrations: { tables }, version: "0.0.1" }));
    const reader = new Client({ connectionString: database.url, application_name: "a long report" });
    reader.on("error", () => {}); // the database is dropped first
    await reader.connect();
    onTestFinished(async () => await reader.end());
    await reader.query("begin; select from layover.run");
    const { rows } = await reader.query("select pg_backend_pid() as pid");
    const migrating = layover(["migrate"], { env: { DATABASE_URL: database.url } });
    const waiting = `select from pg_locks where locktype = 'relation' and not granted
      and database = (select oid from pg_database where datname = current_database())`;
    await expect.poll(async () => (await database.query(waiting)).length).toBe(1);
    await untilItPauses(rows[0].pid);
    await reader.query("commit");
    const { status, stderr } = await migrating;
    expect(status).toBe(0);
    expect(stderr).toMatch(
      new RegExp(
        `^migrations/0003_sent.sql needs a lock that is held by process ${rows[0].pid} \\(a long report, open for \\d+ s\\)\\. ` +
          "Next try in 3 s; runs go on meanwhile\\.\n",
      ),
    );
  });

  test("says that another migrate is under way", async () => {
    const holder = new Client({ connectionString: database.url, application_name: "layover" });
    holder.on("error", () => {}); // the database is dropped first
    await holder.connect();
    onTestFinished(async () => await holder.end());
    await holder.query("begin; select pg_advisory_xact_lock(7812089, 1)");
    const { rows } = await holder.query("select pg_backend_pid() as pid");
    const migrating = layover(["migrate"], { env: { DATABASE_URL: database.url } });
    await untilItPauses(rows[0].pid);
    await holder.query("commit");
    expect(await migrating).toMatchObject({
      status: 0,
      stderr: `Another migrate of this database is under way: process ${rows[0].pid} (layover). Waiting for it.\n`,
    });
  });

  test("prints the SQL for whoever runs it by hand, without a database", async () => {
    const { status, stdout } = await layover(["migrate", "--sql"]);
    expect(status).toBe(0);
    await database.pool.query(stdout);
    expect(await checkSchema(database.query)).toMatchObject({ isUsable: true });
  });

  test("takes the address from .env, then from .dev.vars, and never in the place of what is set", async () => {
    const folder = aFolder();
    writeFileSync(join(folder, ".env"), "DATABASE_URL=postgres://nobody@localhost:1/first\n");
    writeFileSync(join(folder, ".dev.vars"), "DATABASE_URL=postgres://nobody@localhost:2/second\n");
    expect((await layover(["migrate"], { folder })).stderr).toContain("Nothing listens at localhost:1.");
    const env = { DATABASE_URL: database.url };
    expect(await layover(["migrate"], { folder, env })).toMatchObject({ status: 0 });
  });

  test("a role that may not is told whom to ask for what", async () => {
    await database.pool.query("create role cli_clerk login password 'x'");
    try {
      const url = new URL(database.url);
      url.username = "cli_clerk";
      url.password = "x";
      const { status, stderr } = await layover(["migrate"], { env: { DATABASE_URL: url.href } });
      expect(status).toBe(1);
      expect(stderr).toMatch(
        /^"cli_clerk" may not create a schema in the database "\w+"\. Run migrate as the database's owner/,
      );
    } finally {
      await database.pool.query("drop role cli_clerk");
    }
  });

  test("says why a database cannot be reached, and what to do, and never tells the password", async () => {
    const closing = createServer((socket) => socket.destroy()).listen(0);
    onTestFinished(() => void closing.close());
    await once(closing, "listening");
    const address = closing.address();
    const port = typeof address === "object" ? address?.port : 0;
    const other = (change: (url: URL) => void): string => {
      const url = new URL(database.url);
      change(url);
      return url.href;
    };
    const { host, username } = new URL(database.url);
    const cases: Readonly<Record<string, string>> = {
      "": "DATABASE_URL is not set.\nWrite it as postgres://USER:PASSWORD@HOST:5432/DATABASE",
      "postgres://me:se#cret@host/db": "DATABASE_URL is no address of a Postgres.\n",
      "mysql://me:secret@host/db": "DATABASE_URL is no address of a Postgres.\n",
      "postgres://me:secret@localhost:1/db": "Nothing listens at localhost:1.\nStart that Postgres",
      "postgres://me:secret@no-such-host.invalid/db": "no-such-host.invalid",
      [`postgres://me:secret@localhost:${port}/db`]: `localhost:${port} ended the connection at once.\n`,
      [other((url) => {
        url.password = "secret";
      })]: `The password of the role "${username}" is wrong.\nPut it right in DATABASE_URL.\n`,
      [other((url) => {
        url.pathname = "/nowhere";
      })]: `There is no database named "nowhere" at ${host}.\nCreate it`,
      [other((url) => {
        url.search = "?sslmode=require";
      })]: `The server at ${host} has no TLS.\n`,
    };
    const said = await Promise.all(
      Object.keys(cases).map((DATABASE_URL) => layover(["migrate"], { env: { DATABASE_URL } })),
    );
    for (const [index, expected] of Object.values(cases).entries()) {
      expect(said[index]).toMatchObject({ status: 1, stdout: "" });
      expect(said[index]?.stderr).toContain(expected);
      expect(said[index]?.stderr).not.toMatch(/cret|\bat .*\.[jt]s:/);
      expect(said[index]?.stderr.trimEnd().split("\n")).toHaveLength(2);
    }
  });
});
