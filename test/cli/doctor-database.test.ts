/** What `layover doctor` says of the database itself: whose environment it is, its schema, and the role that asks. */
import { describe, expect, test } from "vitest";
import { makeRoles, migrationSql } from "../../src/postgres/migrate.ts";
import { testDatabase } from "../postgres/database.ts";
import { report } from "./doctor-report.ts";
import { layover } from "./layover.ts";

describe("layover doctor, of the environment", () => {
  const database = testDatabase({ isOwn: true });

  test("tells a copied database from its original, and lets it go on once it is adopted", async () => {
    const env = { DATABASE_URL: database.url };
    await database.query(
      "insert into layover.environment (namespace, name, endpoint, adopted_at) values ('default', 'production', 'db.example.com/shop', now())",
    );
    const production = { ...env, LAYOVER_ENVIRONMENT: "production" };
    const [other, copy, same, asked] = await Promise.all([
      report(env),
      report(production),
      report(production, "--endpoint", "db.example.com/shop"),
      layover(["adopt"], { env }),
    ]);
    expect(other["environment"]).toBe(
      'problem: The namespace "default" belongs to the environment "production", but LAYOVER_ENVIRONMENT says "default".' +
        " That environment carries nothing out here. → Set LAYOVER_ENVIRONMENT to production. Or give its runs to the other environment: layover adopt",
    );
    expect(copy["environment"]).toMatch(
      /^problem: The namespace "default" belongs to the database at db\.example\.com\/shop, but DATABASE_URL leads to \S+\. That may be a copy, so nothing is carried out there\./,
    );
    expect(same["environment"]).toMatch(/^well: .* belongs to "production" at db\.example\.com\/shop/);
    expect(await layover(["adopt", "--address"], { env: production })).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /^Nothing was changed: this is not known to be the database of the environment "production" at /,
      ),
    });

    const { host, pathname } = new URL(database.url);
    const endpoint = `${host.replace(/:\d+$/, "")}${pathname}`;
    expect(asked).toEqual({
      status: 1,
      stdout: "",
      stderr: `The namespace "default" belongs to the environment "production" at db.example.com/shop.
Its runs would go on as the environment "default" at ${endpoint}.
Nothing was changed. If that is meant: layover adopt --yes
`,
    });
    expect((await layover(["adopt", "--yes"], { env })).stdout).toContain(`the environment "default" at ${endpoint}`);
    expect((await report(env))["environment"]).toMatch(/^well: The namespace "default" belongs to "default" at /);
  });

  test("tells a new address of the same database from another database at the same address", async () => {
    const env = { DATABASE_URL: database.url, LAYOVER_ENVIRONMENT: "production" };
    await layover(["adopt", "--yes"], { env });
    const moved = ["--endpoint", "db.internal/shop"];
    const { host, pathname } = new URL(database.url);
    const endpoint = `${host.replace(/:\d+$/, "")}${pathname}`;
    expect((await report(env, ...moved))["environment"]).toBe(
      `problem: The database is the right one, and is known at ${endpoint}. DATABASE_URL has another address, db.internal/shop, from which nothing is carried out. ` +
        `→ If a deployment uses that address: layover adopt --address. If only you do, name the deployment's: layover doctor --endpoint ${endpoint}`,
    );
    expect(await layover(["adopt", "--address", ...moved], { env })).toEqual({
      status: 0,
      stdout: 'Runs may now be carried out and started by the environment "production" at db.internal/shop, too.\n',
      stderr: "",
    });
    expect((await report(env, ...moved))["environment"]).toMatch(/^well: .* at \S+, db\.internal\/shop, since/);
    await database.query("update layover.environment set identity = 'another'");
    expect((await report(env))["environment"]).toBe(
      'problem: The namespace "default" belongs to another database, and this one is a copy of it, or was restored or upgraded. Nothing is carried out here. ' +
        "→ To carry on its runs here, and nowhere else: layover adopt",
    );
    await layover(["adopt", "--yes"], { env });
    expect((await report(env))["environment"]).toMatch(/^well: /);
  });

  test("warns of an environment that nobody named, unless the database is on this machine", async () => {
    const env = { DATABASE_URL: database.url };
    await layover(["adopt", "--yes", "--endpoint", "db.example.com/shop"], { env });
    expect((await report(env, "--endpoint", "db.example.com/shop"))["environment"]).toMatch(
      /^warning: .* No environment was named\. → Name each deployment's environment/,
    );
  });
});

describe("layover doctor, of the schema", () => {
  const database = testDatabase({ isEmpty: true, isOwn: true });

  test("finds that it is missing, old, or somebody else's", async () => {
    const env = { DATABASE_URL: database.url };
    expect((await report(env))["schema"]).toBe(
      "problem: layover was not set up in this database. → Run layover migrate.",
    );
    await database.pool.query("create schema layover create table cities (id integer)");
    expect((await report(env))["schema"]).toMatch(
      /^problem: The database "\w+" has a schema "layover" that layover did not make\./,
    );
    await database.pool.query("drop schema layover cascade");
    await database.pool.query(migrationSql());
    await database.pool.query("drop table layover.api_key; delete from layover.migration where number = 2");
    expect((await report(env))["schema"]).toBe("problem: The database lacks 0002_api_keys. → Run layover migrate.");
  });

  test("names what a role lacks, and the grants that it needs", async () => {
    await database.pool.query(migrationSql());
    await database.pool.query("create role cli_reader login password 'x'; grant usage on schema layover to cli_reader");
    try {
      const url = new URL(database.url);
      url.username = "cli_reader";
      url.password = "x";
      const env = { DATABASE_URL: url.href };
      const before = await report(env);
      expect(before["schema"]).toMatch(/^warning: This role may not see which migrations were applied\. → /);
      expect(before["role"]).toMatch(
        /^problem: "cli_reader" lacks execute on adopt_environment, execute on adopt_schedule, .* and \d+ more\. → Run layover migrate --roles as the role that runs layover migrate, then this: grant layover_runtime to "cli_reader";/,
      );
      await makeRoles(database.pool);
      await database.pool.query(before["role"]?.split("then this: ")[1] ?? "");
      expect((await report(env))["role"]).toBe('well: "cli_reader" may do what a deployment does.');
    } finally {
      await database.pool.query("drop owned by cli_reader cascade; drop role cli_reader");
    }
  });
});
