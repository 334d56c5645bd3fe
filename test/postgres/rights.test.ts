/** Who may call what, after migrate: for roles of a deployment, for strangers, and for those of releases before. */
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { makeRoles, migrate, migrationSql } from "../../src/postgres/migrate.ts";
import { readSchema } from "../../src/postgres/sql-files.ts";
import { aFunction, aSchema } from "./a-schema.ts";
import { describeEachPostgres } from "./database.ts";

const entry = `create or replace function layover.claim_turns(p jsonb) returns json language plpgsql as $$
  begin return layover.greet()::json; end $$;`;
const later = entry.replace("claim_turns", "wake_up");
const state = "create table layover.run_state (id integer);";

let names = 0;

describeEachPostgres(
  "rights",
  (database) => {
    const ask = async (text: string): Promise<unknown> => Object.values((await database.query(text))[0] ?? {})[0];

    /** A role's name, and a connection as that role. */
    async function aRole(grants: (name: string) => string): Promise<{ name: string; client: Client }> {
      names += 1;
      const name = `rights_${process.pid}_${names}`;
      await database.pool.query(`create role ${name} login password 'x'; ${grants(name)}`);
      const url = new URL(database.url);
      url.username = name;
      url.password = "x";
      const admin = new Client(new URL("/postgres", database.url).href);
      await admin.connect();
      const client = new Client(url.href);
      client.on("error", () => {});
      await client.connect();
      onTestFinished(async () => {
        await client.end();
        await admin.query(`drop role if exists ${name}`);
        await admin.end();
      });
      return { name, client };
    }

    const mayCall = async (name: string, what: string) =>
      await ask(`select has_function_privilege('${name}', 'layover.${what}', 'execute')`);

    test("let nobody but the owner call a function, let no path lead an entry astray, and know the files in entries/", async () => {
      await migrate(database.pool);
      const open = `select json_agg(p.oid::regprocedure::text) from pg_proc p
        where p.pronamespace = 'layover'::regnamespace and exists (
          select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee <> p.proowner)`;
      expect(await ask(open)).toBeNull();
      const path = `select json_agg(distinct (select setting from unnest(p.proconfig) as setting where setting like 'search_path=%'))
        from pg_proc p where p.pronamespace = 'layover'::regnamespace and p.prosecdef`;
      expect(await ask(path)).toEqual(["search_path=pg_catalog, pg_temp"]);
      const entries = `select json_agg(p.proname order by p.proname collate "C") from pg_proc p
        where p.pronamespace = 'layover'::regnamespace and p.prosecdef and p.prorettype <> 'trigger'::regtype`;
      const inEntries = readSchema().functions.filter(({ file }) => file.includes("/entries/"));
      expect(inEntries.map(({ name }) => name)).toEqual(
        expect.arrayContaining(["claim_turns", "new_id", "read_clock", "start_run"]),
      );
      expect(await ask(entries)).toEqual(inEntries.map(({ name }) => name));
    });

    test("are the same where the SQL is run by hand", async () => {
      const rights = `select json_agg(p.oid::regprocedure || ' ' || p.prosecdef || ' ' || p.proacl::text order by p.oid::regprocedure::text)
        from pg_proc p where p.pronamespace = 'layover'::regnamespace`;
      await database.pool.query(migrationSql());
      const byHand = await ask(rights);
      await database.pool.query("drop schema layover cascade");
      await migrate(database.pool);
      expect(await ask(rights)).toEqual(byHand);
    });

    test("that the host's default privileges give to others are taken back", async () => {
      const { name } = await aRole((role) => `alter default privileges grant execute on functions to ${role}`);
      await migrate(database.pool);
      expect(await mayCall(name, "start_run(jsonb)")).toBe(false);
      await database.pool.query(`alter default privileges revoke execute on functions from ${name}`);
    });

    test("stay with a role that had all rights on the tables under a release before, and with no other", async () => {
      await migrate(database.pool, aSchema({ migrations: { state } }));
      await database.pool.query(entry);
      const all = await aRole((role) => `grant select, insert, update, delete on layover.run_state to ${role}`);
      const some = await aRole((role) => `grant select, insert on layover.run_state to ${role}`);
      const functions = { claim_turns: entry, greet: aFunction("greet", "1") };
      await migrate(database.pool, aSchema({ migrations: { state }, functions, version: "2.0.0" }));
      expect(await mayCall(all.name, "claim_turns(jsonb)")).toBe(true);
      expect(await mayCall(all.name, "greet()")).toBe(false);
      expect(await mayCall(some.name, "claim_turns(jsonb)")).toBe(false);
      await database.pool.query(`drop owned by ${all.name}; drop owned by ${some.name}`);
    });

    test("that people gave or took stay through a migrate, and a new entry is for whoever claims turns", async () => {
      const functions = {
        claim_turns: entry,
        greet: aFunction("greet", "1"),
        wake: entry.replace("claim_turns", "wake"),
      };
      await migrate(database.pool, aSchema({ functions }));
      const runtime = await aRole((role) => `grant execute on function layover.claim_turns(jsonb) to ${role}`);
      const other = await aRole((role) => `grant execute on function layover.wake(jsonb) to ${role}`);
      await migrate(database.pool, aSchema({ functions: { ...functions, wake_up: later }, version: "1.0.1" }));
      expect(await mayCall(runtime.name, "claim_turns(jsonb)")).toBe(true);
      expect(await mayCall(runtime.name, "wake(jsonb)")).toBe(false);
      expect(await mayCall(runtime.name, "wake_up(jsonb)")).toBe(true);
      expect(await mayCall(other.name, "wake(jsonb)")).toBe(true);
      expect(await mayCall(other.name, "wake_up(jsonb)")).toBe(false);
      await database.pool.query(`drop owned by ${runtime.name}; drop owned by ${other.name}`);
    });

    test("of a function that somebody else keeps in the schema are left alone", async () => {
      await migrate(database.pool);
      const mine = "select p.prosecdef::text || p.proacl::text from pg_proc p where p.proname = 'mine'";
      await database.pool.query(
        "create function layover.mine(p jsonb) returns json language sql as 'select null::json'",
      );
      await database.pool.query("grant execute on function layover.mine(jsonb) to public");
      const before = await ask(mine);
      await database.pool.query("update layover.function_set set checksum = ''");
      await migrate(database.pool);
      expect(await ask(mine)).toBe(before);
    });

    test("of the three roles: one owns, one calls, one reads; migrate goes on as the owner", async () => {
      await migrate(database.pool);
      await makeRoles(database.pool);
      await makeRoles(database.pool);
      const owners = `select json_agg(distinct pg_get_userbyid(o.owner)) from (
        select relowner as owner from pg_class where relnamespace = 'layover'::regnamespace
        union all select proowner from pg_proc where pronamespace = 'layover'::regnamespace
        union all select nspowner from pg_namespace where nspname = 'layover') as o`;
      expect(await ask(owners)).toEqual(["layover_owner"]);
      expect(await mayCall("layover_runtime", "start_run(jsonb)")).toBe(true);
      expect(await mayCall("layover_runtime", "reclaim_run(jsonb, jsonb)")).toBe(false);
      expect(await mayCall("layover_reader", "list_runs(jsonb)")).toBe(true);
      expect(await mayCall("layover_reader", "start_run(jsonb)")).toBe(false);
      expect(await ask("select has_table_privilege('layover_runtime', 'layover.run', 'select')")).toBe(false);

      await database.pool.query("drop function layover.start_run; update layover.function_set set checksum = ''");
      await migrate(database.pool);
      expect(await ask(owners)).toEqual(["layover_owner"]);
      expect(await mayCall("layover_runtime", "start_run(jsonb)")).toBe(true);
      expect(await mayCall("layover_reader", "start_run(jsonb)")).toBe(false);
    });
  },
  { perTest: true, isEmpty: true },
);
