import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Pool } from "pg";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { neon } from "../../src/postgres/neon.ts";
import { pg } from "../../src/postgres/pg.ts";
import { openNeonEndpoint } from "../postgres/neon-endpoint.ts";
import { type PostgresServer, startPostgres } from "../postgres/server.ts";
import { StatementLog, statementsIn } from "./statement-log.ts";

let folder: string;
let log: StatementLog;
let server: PostgresServer;
let marks = 0;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "layover-idle-"));
  chmodSync(folder, 0o755);
  log = new StatementLog(join(folder, "log"));
  server = await startPostgres({ version: 18, settings: log.settings });
  await log.connect(server.url);
});
afterAll(async () => {
  await log.end();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  marks += 1;
  await log.mark(`begin ${marks}`);
});

/** What was sent since the test began. */
async function sent(): Promise<readonly string[]> {
  await log.mark(`end ${marks}`);
  return statementsIn(log.between(`begin ${marks}`, `end ${marks}`));
}

test("nothing is found where nothing was sent, though others work and connections open", async () => {
  const client = new Client(server.url);
  await client.connect();
  await server.kill("SIGHUP"); // it logs that it reads its settings again
  await client.end();
  expect(await sent()).toEqual([]);
});

test("what layover's adapters send is found, by either protocol", async () => {
  const pool = new Pool({ connectionString: server.url });
  const endpoint = await openNeonEndpoint(server.url);
  onTestFinished(async () => await endpoint.close());
  await pg(pool)("select $1::text as by", ["pg"]);
  await neon(endpoint.url, { fetchEndpoint: endpoint.fetchEndpoint })("select $1::text as by", ["neon"]);
  await pool.query("select 1 as plainly");
  await pool.end();
  const found = await sent();
  expect(found.filter((statement) => statement.startsWith("select $1::text as by"))).toHaveLength(2);
  expect(found).toContain("select 1 as plainly");
});

test("a statement of several lines is one, and one that fails is found", async () => {
  const client = new Client(server.url);
  await client.connect();
  await client.query("select 1,\n  2,\n\n  3");
  expect(await sent()).toEqual(["select 1,"]);
  await log.mark(`begin ${++marks}`);
  await expect(client.query("selekt 1")).rejects.toThrow("syntax error");
  expect(await sent()).toEqual(['syntax error at or near "selekt" at character 1']);
  await log.mark(`begin ${++marks}`);
  await expect(client.query("select 1 / 0")).rejects.toThrow("division by zero");
  expect(await sent()).toEqual(["select 1 / 0", "division by zero"]);
  await client.end();
});

test("what comes before the one mark and after the other is not of these minutes", async () => {
  const client = new Client(server.url);
  await client.connect();
  await client.query("select 'in time'");
  const found = await sent();
  await client.query("select 'too late'");
  await log.mark("after all");
  expect(found).toEqual(["select 'in time'"]);
  expect(statementsIn(log.between(`begin ${marks}`, `end ${marks}`))).toEqual(found);
  expect(statementsIn(log.between(`end ${marks}`, "after all"))).toEqual(["select 'too late'"]);
  expect(statementsIn(log.between(`begin ${marks}`)).length).toBeGreaterThan(2);
  expect(log.excerpt(`begin ${marks}`, `end ${marks}`)).toMatch(
    /^\S+ [^\n]*select 'begin \d+'\n[^\n]*select 'in time'\n[^\n]*select 'end \d+'\n$/,
  );
  expect(() => log.between("never")).toThrow("no mark never");
  await client.end();
});
