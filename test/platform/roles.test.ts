/** The whole product as a role that may only call layover, and what a reader may see and never change. */
import { dashboard } from "layover/dashboard";
import { replayCheck } from "layover/replay-check";
import { none, start as startByDelivery, webhook } from "layover/webhooks";
import { Pool } from "pg";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { Client } from "../../src/client/over-postgres/client.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import { schedule } from "../../src/core/contract/schedule.ts";
import { NonRetryableError } from "../../src/core/contract/user-errors.ts";
import { createApiKey, readApiKey, scopes } from "../../src/http/api-key.ts";
import { createApp } from "../../src/http/app.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import { makeRoles } from "../../src/postgres/migrate.ts";
import { pg } from "../../src/postgres/pg.ts";
import { describeEachPostgres } from "../postgres/database.ts";

const secret = "bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g";
const key = createApiKey(new Secrets([secret]), { name: "test", namespace: "default", scopes });

const box = workflow({ name: "box", version: 1, input: z.object({ of: z.string() }), output: z.string() });
const boxWorkflow = box.handler(({ input, step }) => step.run("fold", () => `a box of ${input.of}`));

const state = { isBroken: true };
const parcel = workflow({
  name: "parcel",
  version: 1,
  input: z.object({ of: z.string() }),
  signals: { address: z.string() },
  callbacks: { customs: z.boolean() },
});
const parcelWorkflow = parcel.handler(async ({ input, step }) => {
  const folded = await step.invoke("box", box, input);
  await step.run(
    "weigh",
    () => {
      if (state.isBroken) throw new NonRetryableError("the scales are broken");
    },
    { compensate: () => {} },
  );
  await step.waitForCallback("customs", () => {});
  return `${folded} to ${await step.waitForSignal("address")}`;
});

const nightly = schedule({ name: "nightly", cron: "0 3 * * *", start: box, input: () => ({ of: "night" }) });
const post = webhook({
  name: "post",
  verify: none({ reason: "a test" }),
  on: ({ event }) => startByDelivery(box, { of: String(event) }),
});

const servers: NodeServer[] = [];
const pools: Pool[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
  for (const pool of pools.splice(0)) await pool.end();
});

describeEachPostgres(
  "on a database with roles",
  (database) => {
    /** A role of one's own to log in with, which is a member of one of layover's. */
    async function loggedIn(member: "layover_runtime" | "layover_reader"): Promise<Pool> {
      const name = `${member}_${process.pid}`;
      await database.pool.query(`drop role if exists ${name}`);
      await database.pool.query(`create role ${name} login password 'x'; grant ${member} to ${name}`);
      const url = new URL(database.url);
      url.username = name;
      url.password = "x";
      const pool = new Pool({ connectionString: url.href });
      pool.on("error", () => {}); // the database is dropped, perhaps before Postgres has heard that the pool ended
      pools.push(pool);
      return pool;
    }

    async function served(pool: Pool): Promise<NodeServer> {
      const server = await serve({
        workflows: [boxWorkflow, parcelWorkflow],
        schedules: [nightly],
        webhooks: [post],
        dashboard: dashboard(),
        replayCheck: replayCheck(),
        deployment: "b1",
        database: pg(pool),
        secrets: [secret],
        port: 0,
        onEvent: () => {},
        onLog: () => {},
      });
      servers.push(server);
      return server;
    }

    /** Names and signatures of layover's functions. */
    const functions = async () => {
      const { rows } = await database.pool.query<{ name: string; types: string[]; entry: boolean }>(
        `select p.proname as name, p.prosecdef and p.prorettype <> 'trigger'::regtype as entry,
            array(select format_type(t.type, null) from unnest(p.proargtypes) with ordinality as t (type, place) order by t.place) as types
          from pg_proc p where p.pronamespace = 'layover'::regnamespace and p.prorettype <> 'trigger'::regtype order by 1`,
      );
      return rows;
    };

    const tables = async () => {
      const { rows } = await database.pool.query<{ name: string; column: string }>(
        `select c.relname as name, (select a.attname from pg_attribute a where a.attrelid = c.oid and a.attnum = 1) as column
           from pg_class c where c.relnamespace = 'layover'::regnamespace and c.relkind = 'r' order by 1`,
      );
      return rows;
    };

    const contents = async () => {
      const told: Record<string, unknown> = {};
      for (const { name } of await tables()) {
        const { rows } = await database.pool.query(`select t::text as row from layover.${name} t order by 1`);
        told[name] = rows;
      }
      return told;
    };

    /** The SQLSTATE that a statement ends with. Undefined: it has succeeded. */
    const codeOf = async (pool: Pool, text: string): Promise<string | undefined> =>
      await pool.query(text).then(
        () => undefined,
        (error: { code: string }) => error.code,
      );

    /** Plays runs, people, a sender, schedules and pages. It leaves rows in most tables. */
    async function play(pool: Pool): Promise<NodeServer> {
      const server = await served(pool);
      const { client, url } = server;
      const ask = async (path: string, init: RequestInit = {}, more = {}) => {
        const response = await fetch(`${url}${path}`, {
          ...init,
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...more },
        });
        return { status: response.status, text: await response.text(), headers: response.headers };
      };
      state.isBroken = true;
      const run = await client.start(parcel, { of: "cups" }, { id: "p1", tags: { to: "Bonn" } });
      await client.waitForEnd(run.runId, { wait: "20s" });
      expect((await run.get()).status).toBe("failed");
      state.isBroken = false;
      expect(await run.restart({ from: "weigh" })).toMatchObject({ outcome: "restarted" });
      await expect.poll(async () => (await run.get()).status).toBe("waiting");
      const link = await ask(`/v1/runs/${run.runId}/callbacks/customs`);
      const token = String(JSON.parse(link.text).url).split("/").at(-1) ?? "";
      expect(await client.callback(token)).toMatchObject({ status: "open" });
      await client.resolveCallback(token, true, { contract: parcel });
      await run.signal("address", "Bonn");
      expect(await run.result({ wait: "20s" })).toBe("a box of cups to Bonn");
      await client.fork(run.runId, { from: "weigh" });
      await client.signalWithStart(parcel, "address", "Rome", { id: "p2", input: { of: "lamps" } });
      const late = await client.start(box, { of: "books" }, { id: "b1", delay: "1 day" });
      await late.pause({ by: "ada", reason: "later" });
      await late.resume();
      await client.pauseRuns({ workflow: "parcel" });
      await client.resumeRuns({ workflow: "parcel" });
      await client.pauseWorkflow("box");
      await client.resumeWorkflow("box");
      await late.cancel();
      await client.terminateRuns({ workflow: "parcel" });
      await late.delete({ by: "ada" });
      const failed = await client.start(parcel, { of: "pens" }, { delay: "1 day" });
      await failed.terminate();
      await expect(failed.retry()).rejects.toMatchObject({ code: "not_applicable" });
      expect((await ask("/webhooks/post", { method: "POST", body: '"mail"' })).status).toBe(200);
      expect(JSON.parse((await ask("/v1/deliveries")).text)).toMatchObject({ deliveries: [{ outcome: "done" }] });
      await client.schedules.create("weekly", box, { every: "7 days", input: { of: "weeks" } });
      await client.schedules.pause("weekly");
      await client.schedules.resume("weekly");
      await client.schedules.trigger("weekly");
      expect((await client.schedules.list()).schedules).toHaveLength(2);
      const signIn = await fetch(`${url}/dashboard/sign-in`, {
        method: "POST",
        headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
        body: JSON.stringify({ key }),
      });
      const cookie = signIn.headers.get("set-cookie")?.split(";")[0] ?? "";
      for (const page of ["", `runs/${run.runId}`, "workflows", "workflows/box", "schedules", "deliveries"]) {
        const { status, text } = await ask(`/dashboard/${page}`, {}, { cookie });
        expect([page, status]).toEqual([page, 200]);
        expect(text).toContain("<h1>");
      }
      const { runId } = await client.start(box, { of: "plates" }, { delay: "1 day" });
      expect(JSON.parse((await ask("/v1/replay-check")).text).runs).toMatchObject([{ runId }]);
      const runs = [runId];
      const judged = await ask("/v1/replay-check", { method: "POST", body: JSON.stringify({ runs }) });
      expect(JSON.parse(judged.text)).toMatchObject({ deployment: { id: "b1" }, verdicts: [{ outcome: "fits" }] });
      await client.wake();
      return server;
    }

    test("the runtime role plays the whole product, and may call every entry", async () => {
      await makeRoles(database.pool);
      const pool = await loggedIn("layover_runtime");
      await play(pool);
      const calls = makeCalls({ query: pg(pool), namespace: "default", alarm: async () => {} });
      const keyId = readApiKey(key)?.keyId ?? "";
      await calls.revokeKey({ keyId });
      await calls.diagnose();
      await calls.pruneRuns({ keepMs: 0, keepFailedMs: 0, limit: 10 });
      for (const { name, types, entry } of await functions()) {
        const call = `select layover.${name}(${types.map((type) => (type === "jsonb" ? "'{}'" : `null::${type}`)).join(", ")})`;
        const code = await codeOf(pool, call);
        if (entry || name === "new_id") expect([name, code], name).not.toEqual([name, "42501"]);
        else expect([name, code]).toEqual([name, "42501"]);
      }
    });

    test("a reader sees what there is, and changes nothing by any function or statement", async () => {
      await makeRoles(database.pool);
      const server = await play(await loggedIn("layover_runtime"));
      const { runId } = await server.client.start(box, { of: "books" }, { id: "b2", delay: "1 day" });
      await server.close();
      const reader = await loggedIn("layover_reader");
      const calls = makeCalls({ query: pg(reader), namespace: "default", alarm: async () => {} });
      expect((await calls.listRuns({ limit: 100, walk: 1_000 })).runs.length).toBeGreaterThan(3);
      const app = createApp({
        client: new Client({ calls, dispatch: async () => {}, wake: async () => {} }),
        contracts: [],
        namespace: "default",
        onError: () => {},
        secrets: new Secrets([secret]),
        replayCheck: replayCheck()({ workflows: [boxWorkflow], deployment: { name: "node", id: "b1" } }),
      });
      const judged = await app.request("/v1/replay-check", {
        method: "POST",
        body: JSON.stringify({ runs: [runId] }),
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      });
      expect(await judged.json()).toMatchObject({ verdicts: [{ runId, outcome: "fits" }] });
      const before = await contents();
      expect(Object.values(before).filter((rows) => Array.isArray(rows) && rows.length > 0).length).toBeGreaterThan(12);

      const what = {
        ...{ namespace: "default", environment: "default", workflow: "box", runId, id: "b2", name: "nightly" },
        ...{ verb: "cancel", filter: { workflow: "box" }, limit: 100, walk: 1_000, webhook: "post", owner: "x" },
        ...{ keepMs: 0, keepFailedMs: 0, turns: [{ runId, turn: 1 }], versions: { box: [1] }, names: ["nightly"] },
      };
      const called: string[] = [];
      for (const { name, types } of await functions()) {
        for (const given of ["{}", JSON.stringify(what)]) {
          const values = types.map((type) =>
            type === "jsonb" ? `'${given}'` : type === "uuid" ? `'${runId}'` : `null::${type}`,
          );
          const code = await codeOf(reader, `select layover.${name}(${values.join(", ")})`);
          if (code !== "42501" && !called.includes(name)) called.push(name);
        }
      }
      expect(called).toEqual([
        "diagnose",
        "get_delivery",
        "get_history",
        "get_run",
        "get_schedule",
        "list_deliveries",
        "list_parked",
        "list_runs",
        "list_schedules",
        "read_clock",
        "read_mail",
        "read_replay",
      ]);
      for (const { name, column } of await tables()) {
        for (const text of [
          `select from layover.${name}`,
          `insert into layover.${name} default values`,
          `update layover.${name} set ${column} = ${column}`,
          `delete from layover.${name}`,
          `truncate layover.${name}`,
          `do $$ begin lock layover.${name}; end $$`,
          `alter table layover.${name} add column mine integer`,
          `drop table layover.${name}`,
        ]) {
          expect([text, await codeOf(reader, text)]).toEqual([text, "42501"]);
        }
      }
      for (const text of [
        "create table layover.mine ()",
        "create function layover.mine() returns integer language sql as 'select 1'",
        "set role layover_runtime",
        "set role layover_owner",
        "grant layover_owner to current_user",
        "drop schema layover cascade",
        "select nextval(pg_get_serial_sequence('layover.signal', 'number'))",
      ]) {
        expect([text, await codeOf(reader, text)]).toEqual([text, "42501"]);
      }
      expect(await contents()).toEqual(before);
    });
  },
  { isOwn: true },
);
