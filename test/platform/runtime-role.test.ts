/** A deployment whose role has no right but to call layover, in a database where others may create what they like. */
import { randomBytes } from "node:crypto";
import { Client, Pool } from "pg";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { startInProcess } from "../../src/platform/node/in-process/in-process.ts";
import type { InProcess } from "../../src/platform/node/in-process/options.ts";
import { makeRoles } from "../../src/postgres/migrate.ts";
import { pg } from "../../src/postgres/pg.ts";
import { describeEachPostgres } from "../postgres/database.ts";

const parcel = workflow({
  name: "parcel",
  version: 1,
  input: z.object({ items: z.array(z.string()) }),
  output: z.array(z.string()),
  signals: { address: z.string() },
  callbacks: { customs: z.boolean() },
  timeout: "1 day",
});

const urls: string[] = [];
const parcelWorkflow = parcel.handler(async ({ input, step }) => {
  let tries = 0;
  await step.run(
    "weigh",
    () => {
      tries += 1;
      if (tries === 1) throw new Error("the scales are taken");
    },
    { retry: { delay: 1, jitter: false } },
  );
  await step.waitForCallback("customs", ({ url }) => void urls.push(url));
  const address = await step.waitForSignal("address");
  await step.sleep("rest", 1);
  return await step.map("pack", input.items, (item, { step }) => step.run("wrap", () => `${item} to ${address}`), {
    maxConcurrency: 2,
  });
});

/**
 * What someone who may create things in `public` would plant there: an operator for each pair of types that Postgres has
 * none for, and functions that fit better than Postgres' own. Each raises when it is called.
 */
const traps = `
  create function public.trap() returns boolean language plpgsql as $$ begin raise exception 'trapped'; end $$;
  do $$
  declare
    v_types constant text[] := '{smallint,integer,bigint,numeric,float8,text,varchar,name,uuid,boolean,json,jsonb,timestamptz,timestamp,date,interval}';
    v_left text; v_right text; v_operator text;
  begin
    foreach v_left in array v_types loop foreach v_right in array v_types loop
      execute format('create function public.trap(a %s, b %s) returns boolean language plpgsql as
        ''begin raise exception ''''trapped'''' ; end''', v_left, v_right);
      foreach v_operator in array '{=,<>,<,<=,>,>=,+,-,*,/,||,->,->>,?,@>}'::text[] loop
        if to_regoperator(format('pg_catalog.%s(%s,%s)', v_operator, v_left, v_right)) is null then
          execute format('create operator public.%s (leftarg = %s, rightarg = %s, procedure = public.trap)',
            v_operator, v_left, v_right);
        end if;
      end loop;
    end loop; end loop;
    create function public.to_timestamp(numeric) returns timestamptz language plpgsql as
      'begin raise exception ''trapped''; end';
    create function public.starts_with(varchar, varchar) returns boolean language plpgsql as
      'begin raise exception ''trapped''; end';
    create function public.octet_length(varchar) returns integer language plpgsql as
      'begin raise exception ''trapped''; end';
  end $$;
`;

const role = `runtime_${process.pid}`;
const processes: InProcess[] = [];
const pools: Pool[] = [];

afterEach(async () => {
  for (const each of processes.splice(0)) await each.close();
  for (const pool of pools.splice(0)) await pool.end();
});

describeEachPostgres(
  "a role that may only call layover",
  (database) => {
    async function aPool(): Promise<Pool> {
      await makeRoles(database.pool);
      await database.pool.query(`drop role if exists ${role}`);
      await database.pool.query(`create role ${role} login password 'x'; grant layover_runtime to ${role}`);
      const url = new URL(database.url);
      url.username = role;
      url.password = "x";
      const pool = new Pool({ connectionString: url.href });
      pool.on("error", () => {}); // the database is dropped, perhaps before Postgres has heard that the pool ended
      pools.push(pool);
      return pool;
    }

    test("carries runs from start to end, where others planted operators and functions in public", async () => {
      await database.pool.query(traps);
      const pool = await aPool();
      const options = {
        publicUrl: "https://example.com",
        secrets: new Secrets([randomBytes(32).toString("base64")]),
      };
      const process = await startInProcess({ workflows: [parcelWorkflow], database: pg(pool), ...options });
      processes.push(process);
      const { client } = process;
      const run = await client.start(parcel, { items: ["cup", "book", "lamp"] }, { id: "p1", tags: { to: "Bonn" } });
      await expect.poll(() => urls.length).toBeGreaterThan(0);
      await client.resolveCallback(String(urls.pop()).split("/").at(-1) ?? "", true, { contract: parcel });
      await run.signal("address", "Bonn");
      expect(await run.result({ wait: "20s" })).toEqual(["cup to Bonn", "book to Bonn", "lamp to Bonn"]);
      expect((await client.list({ status: "completed", tags: { to: "Bonn" } })).runs).toHaveLength(1);
      expect((await client.history(run.runId)).records.length).toBeGreaterThan(5);
      const inside = new Client({ connectionString: String(pool.options.connectionString) });
      await inside.connect();
      await inside.query("begin");
      await client.startIn(pg(inside), parcel, { items: [] }, { commitWithin: "1m" });
      await inside.query("commit");
      await inside.end();
      await process.calls.diagnose();
      await process.calls.pruneRuns({ keepMs: 0, keepFailedMs: 0, limit: 10 });
    });

    test("reads and changes no table, and calls nothing but entries", async () => {
      const pool = await aPool();
      await expect(pool.query("select from layover.run")).rejects.toMatchObject({ code: "42501" });
      await expect(pool.query("delete from layover.api_key")).rejects.toMatchObject({ code: "42501" });
      await expect(pool.query("select layover.reclaim_run('{}', '{}')")).rejects.toMatchObject({ code: "42501" });
      await expect(pool.query("create table layover.mine ()")).rejects.toMatchObject({ code: "42501" });
    });
  },
  { isOwn: true },
);
