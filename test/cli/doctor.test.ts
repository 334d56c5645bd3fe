import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { type AlarmStatus, verifyStatus } from "../../src/http/alarm.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { signatureHeader } from "../../src/http/signature.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { makeRoles, migrationSql } from "../../src/postgres/migrate.ts";
import { testDatabase } from "../postgres/database.ts";
import { layover, type Said, secret, secrets } from "./layover.ts";
import { napWorkflow } from "./workflows.ts";

const key = createApiKey(secrets, { name: "ops", namespace: "default", scopes });
const Report = z.object({
  isWell: z.boolean(),
  checks: z.array(z.object({ about: z.string(), level: z.string(), says: z.string(), todo: z.string().optional() })),
});

async function doctor(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Said> {
  return await layover(["doctor", ...args], { env });
}

/** What it says of each thing. */
async function report(
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<Readonly<Record<string, string>>> {
  const { stdout, status } = await doctor(env, "--json", ...args);
  const { isWell, checks } = Report.parse(JSON.parse(stdout));
  expect(isWell).toBe(status === 0);
  const lines = Map.groupBy(checks, ({ about }) => about);
  const shown = ({ level, says, todo }: (typeof checks)[number]) =>
    `${level}: ${says}${todo === undefined ? "" : ` → ${todo}`}`;
  return Object.fromEntries([...lines].map(([about, said]) => [about, said.map(shown).join("\n")]));
}

/** Answers for the alarm of the app `orders`. */
async function anAlarm(status: Partial<AlarmStatus> | number): Promise<string> {
  const now = Date.UTC(2026, 10, 20, 12);
  const well = { app: "orders", url: "https://orders.example", now, standing: 2, nextRingAt: now + 60_000 };
  const told = { ...well, answeredAt: now - 60_000, failures: 0, lastFailure: null, parkedAt: null };
  const server = createHttpServer(async (request, answer) => {
    const headers = new Headers({ [signatureHeader]: String(request.headers[signatureHeader]) });
    const asked = new Request(`http://alarm${request.url}`, { headers });
    await verifyStatus(asked, { secrets, app: "orders", nowMs: Date.now() });
    answer.writeHead(typeof status === "number" ? status : 200, { "content-type": "application/json" });
    answer.end(JSON.stringify(typeof status === "number" ? {} : { ...told, ...status }));
  }).listen(0);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  return `http://localhost:${typeof address === "object" ? address?.port : 0}/apps/orders`;
}

/** Healthy, too, but another one. */
async function aJsonServer(): Promise<string> {
  const server = createHttpServer((_, answer) => {
    answer.writeHead(200, { "content-type": "application/json" }).end('{"status":"ok"}');
  }).listen(0);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  return `http://localhost:${typeof address === "object" ? address?.port : 0}`;
}

describe("layover doctor", () => {
  const database = testDatabase({ isOwn: true });
  const servers: NodeServer[] = [];

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });

  async function aServer(secretThere = secret): Promise<Readonly<Record<string, string>>> {
    const server = await serve({
      workflows: [napWorkflow],
      database: database.query,
      secrets: [secretThere],
      port: 0,
    });
    servers.push(server);
    return { DATABASE_URL: database.url, LAYOVER_URL: server.url, LAYOVER_KEY: key, LAYOVER_SECRET: secret };
  }

  test.each<[string, Partial<AlarmStatus> | number, RegExp]>([
    ["is well", {}, /^well: It last rang at 2026-11-20 11:59:00; 2 instants stand, the next ring is at .*12:01:00\.$/],
    ["was never armed", { answeredAt: null, nextRingAt: null, standing: 0 }, /^well: It has not rung yet; .*nothing/],
    [
      "cannot reach the deployment",
      { failures: 3, lastFailure: "it has answered 502" },
      /^problem: The last 3 rings at https:\/\/orders\.example failed: it has answered 502\. →/,
    ],
    [
      "has parked it",
      { parkedAt: Date.UTC(2026, 10, 19), lastFailure: "it has answered 404" },
      /^problem: It has not rung .* since 2026-11-19 00:00:00, .*404.*APPS/,
    ],
    ["is late", { nextRingAt: Date.UTC(2026, 10, 20, 11, 50) }, /^problem: It should have rung .*11:50:00.*cron/],
    ["has another key", 401, /^problem: .*401.* has another key\. → .*ORDERS_KEY/],
    ["is broken", 500, /^problem: .*answered 500\. →/],
  ])("asks the alarm, which %s", async (_, status, says) => {
    const alarm = await anAlarm(status);
    expect((await report({ LAYOVER_SECRET: secret, LAYOVER_ALARM: alarm }))["alarm"]).toMatch(says);
  });

  test("says what is wrong with the alarm's address, or that nobody is there", async () => {
    const env = { LAYOVER_SECRET: secret };
    expect((await report({ ...env, LAYOVER_ALARM: "https://alarm.example" }))["alarm"]).toMatch(
      /^problem: .*is no address of an app at its alarm\. → Give the address/,
    );
    expect((await report({ ...env, LAYOVER_ALARM: "http://localhost:9/apps/orders" }))["alarm"]).toMatch(
      /^problem: The alarm at .*cannot be asked: .* → Look at LAYOVER_ALARM/,
    );
    expect(await report(env)).not.toHaveProperty("alarm");
  });

  test("finds all well, and says so line by line", async () => {
    const { stdout, status } = await doctor(await aServer());
    expect(stdout).toMatch(
      new RegExp(
        [
          "^✓ database +\\S+ is PostgreSQL \\d+\\.\\d+, \\d+ ms away\\.",
          "✓ schema +It is as this version of layover needs it\\.",
          '✓ role +"\\w+" may do what a deployment does\\.',
          "✓ clock +The database's clock and this machine's agree\\.",
          '✓ environment +Nothing was carried out in the namespace "default" yet: [^✓]*',
          "✓ deployments +(None is alive|node, build)[^✓]*",
          "✓ runs +None is overdue, blocked, or at work without getting on\\.",
          "✓ secret +LAYOVER_SECRET is set, and long enough\\.",
          "✓ deployment +It answers at http://localhost:\\d+\\.",
          '✓ API key +"ops" counts there\\.',
          "",
          "All is well\\.\n$",
        ].join("\n"),
      ),
    );
    expect(status).toBe(0);
  });

  test("finds a database that cannot be reached or is not set, and goes on to the deployment", async () => {
    const env = await aServer();
    const { stdout, status } = await doctor({ ...env, DATABASE_URL: "postgres://me:secret@localhost:1/db" });
    expect(stdout).toMatch(/^✗ database +Nothing listens at localhost:1\.\n +→ Start that Postgres/);
    expect(stdout).toMatch(/✓ API key .*\n\n1 problem\.\n$/);
    expect(stdout).not.toContain("secret@");
    expect(status).toBe(1);
    expect((await report({}))["database"]).toBe(
      "problem: DATABASE_URL is not set. → Write it as postgres://USER:PASSWORD@HOST:5432/DATABASE, in the environment or in .env.",
    );
  });

  test("finds a deployment that does not answer, and one that is something else", async () => {
    const env = await aServer();
    const free = createServer().listen(0);
    await once(free, "listening");
    const address = free.address();
    const nowhere = `http://localhost:${typeof address === "object" ? address?.port : 0}`;
    free.close();
    const [silent, json, other] = await Promise.all([
      report({ ...env, LAYOVER_URL: nowhere }),
      report({ ...env, LAYOVER_URL: await aJsonServer() }),
      report({ ...env, LAYOVER_URL: `${env["LAYOVER_URL"]}/api`, LAYOVER_SECRET: "weak" }),
    ]);
    expect(silent["deployment"]).toBe(
      `problem: The API at ${nowhere} did not answer: ECONNREFUSED. → Look at LAYOVER_URL, with its prefix, and whether the deployment is up.`,
    );
    expect(json["deployment"]).toMatch(
      /^problem: The API answered 200 \(application\/json\), which is none of layover's\. → Look at LAYOVER_URL/,
    );
    expect(other["deployment"]).toMatch(/^problem: .*(nothing at|404).* → Look at LAYOVER_URL/);
    expect(other["secret"]).toContain(
      "problem: LAYOVER_SECRET does not do: a root secret holds 3 bytes, and 32 are needed. → Make one with `openssl rand",
    );
  });

  test("finds out why a key is refused", { timeout: 60_000 }, async () => {
    const env = await aServer();
    const keyOf = (options: Partial<Parameters<typeof createApiKey>[1]>): string =>
      createApiKey(secrets, { name: "ops", namespace: "default", scopes, ...options });
    const other = "ZGllcyBpc3QgZWluIGFuZGVyZXMgR2VoZWltbmlzLCBkYXMgYXVjaCBsYW5nIGlzdA";
    const revoked = keyOf({ name: "lost" });
    await layover(["keys", "revoke", revoked], { env });
    const elsewhere = await aServer(other);
    const cases = [
      [{ LAYOVER_KEY: "" }, "warning: LAYOVER_KEY is not set."],
      [{ LAYOVER_KEY: "sk_live" }, "problem: LAYOVER_KEY is no API key of layover: those begin with lok_."],
      [
        { LAYOVER_KEY: keyOf({ expiresAt: new Date("2026-01-02T03:04:05Z") }) },
        'problem: The key "ops" expired at 2026-01-02 03:04:05.',
      ],
      [
        { LAYOVER_KEY: keyOf({ namespace: "shop" }) },
        'problem: The key "ops" is for the namespace "shop", and LAYOVER_NAMESPACE says "default".',
      ],
      [
        { LAYOVER_KEY: keyOf({ environment: "staging" }) },
        'problem: The key "ops" is for the environment "staging", and LAYOVER_ENVIRONMENT says "default".',
      ],
      [
        { LAYOVER_KEY: revoked },
        'problem: The key "lost" was revoked. → Make a new one: layover keys create NAME --scopes …',
      ],
      [
        { LAYOVER_SECRET: other },
        'warning: "ops" counts there. But it was not signed with this LAYOVER_SECRET, so the',
      ],
      [{ LAYOVER_KEY: keyOf({ scopes: ["start"] }) }, 'well: "ops" counts there, but may not read runs.'],
      [
        { ...elsewhere, LAYOVER_SECRET: other },
        'problem: The key "ops" was not signed with this LAYOVER_SECRET. → Put LAYOVER_SECRET right',
      ],
      [
        elsewhere,
        'problem: The deployment does not let the key "ops" in, although it is signed with this LAYOVER_SECRET. The deployment has another secret',
      ],
      [
        { ...elsewhere, LAYOVER_SECRET: "" },
        'problem: The deployment does not let the key "ops" in: it was signed with another secret, or revoked.',
      ],
    ] as const;
    const said = await Promise.all(cases.map(([further]) => report({ ...env, ...further })));
    for (const [index, [, expected]] of cases.entries()) expect(said[index]?.["API key"]).toContain(expected);
  });

  describe("of the runs", () => {
    const start = async (workflow: string, version: number): Promise<string> => {
      const [row] = await database.query("select layover.start_run($1) as answer", [
        JSON.stringify({ workflow, version, input: null }),
      ]);
      return z.object({ answer: z.object({ runId: z.string() }) }).parse(row).answer.runId;
    };
    const set = async (runId: string, assignments: string): Promise<void> => {
      await database.query(`update layover.run_state set ${assignments} where run_id = $1::uuid`, [runId]);
    };

    test("names the version that nobody carries out, and the schedule that does not run", async () => {
      const clock = await database.turnClock();
      const undeployed = await start("order", 2);
      await clock.advance(38 * 60_000);
      const silent = await report({ DATABASE_URL: database.url });
      expect(silent["runs"]).toBe(
        "problem: 1 run of order@2 is overdue, since 2026-01-01 12:00:00 (38 min), and no turn has ended since: nobody looks." +
          " → Either no deployment has the code of order@2, or no schedule runs (the cron trigger, or the process itself)." +
          ` See layover show ${undeployed}`,
      );
      const other = await start("nap", 1);
      await set(
        other,
        "status = 'completed', ended_at = layover.now(), ready_at = null, due_at = null, result = '0null'",
      );
      const alone = await report({ DATABASE_URL: database.url });
      expect(alone["runs"]).toMatch(
        /^problem: 1 run of order@2 is overdue, .*, while other runs go on: nobody carries out order@2\. → Deploy the code of order@2/,
      );
      expect(alone["clock"]).toMatch(/^warning: The database's clock is .* behind this machine's\. → /);
    });

    test("lists the deployments that are alive, with what they carry", async () => {
      await database.query(
        `insert into layover.deployment (namespace, name, id, versions, deployed_at, seen_at)
           values ('default', 'node', 'b1', '{"nap": [1], "order": [1, 2]}', layover.now() - interval '3 hours', layover.now() - interval '1 hour')`,
      );
      const { deployments } = await report({ DATABASE_URL: database.url });
      expect(deployments).toMatch(/^well: node, build b1, seen 1 h( \d s)? ago, carries nap@1, order@1, order@2\.$/);
    });

    test("says what waits for whom, where several hosts are alive", async () => {
      await database.query(
        `insert into layover.deployment (namespace, name, id, versions, wake_address, deployed_at, seen_at) values
           ('default', 'cloudflare', 'w1', '{"order": [1], "nap": [2]}', 'https://cloud.example', layover.now(), layover.now()),
           ('default', 'node', 'b1', '{"order": [1], "nap": [1]}', null, layover.now(), layover.now())`,
      );
      await start("order", 1);
      await start("order", 1);
      await start("order", 9);
      await start("nap", 1);
      await start("nap", 2);
      const { deployments, versions } = await report({ DATABASE_URL: database.url });
      expect(deployments).toMatch(
        /cloudflare, build w1, seen .*, carries nap@2, order@1, rung at https:\/\/cloud\.example\./,
      );
      expect(versions?.split("\n")).toEqual([
        "well: 2 runs of order@1 are not over, and cloudflare, node may carry them on.",
        "warning: 1 run of nap@1 is not over. Only node may carry it on, and the other hosts do not know where to ring there. → Give node its public URL (PUBLIC_URL). Otherwise what another host makes ready waits for the next tick there, up to six hours.",
        "well: 1 run of nap@2 is not over, and cloudflare may carry it on.",
        "warning: 1 run of order@9 is not over, and no deployment that is alive carries order@9. → They wait for it. Deploy the code of order@9: a version stays registered until its last run is over.",
      ]);
    });

    test("names the blocked, those that are never claimed and those whose invocations die, a line a reason", async () => {
      const blocked = await start("order", 1);
      await set(blocked, "blocked = 'the history has \"charge\"', due_at = null");
      await set(await start("order", 1), "blocked = 'the history has \"charge\"', due_at = null");
      await set(await start("mail", 1), "dispatches = 7, due_at = layover.now() + interval '1 hour'");
      await set(
        await start("film", 3),
        "status = 'running', lost = 4, token = layover.new_id(), leased_until = layover.now(), ready_at = null",
      );
      const slow = await start("slow", 1);
      await database.pool.query(
        `insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until)
           values ($1, '', 1, 1, 'it took too long', 1, layover.now(), layover.now() + interval '1 minute')`,
        [slow],
      );
      const { stdout, status } = await doctor({ DATABASE_URL: database.url });
      expect(stdout).toMatch(
        /1 run of slow@1 is held up, since .*: it took too long\.\s+It\s+is\s+tried\s+again\s+a\s+minute, .* after\s+that\./,
      );
      expect(stdout).toMatch(
        /✗ runs +2 runs of order@1 are blocked: the history has "charge"\.\n +→ Deploy the code that fits/,
      );
      expect(stdout).toMatch(/One of them:\s+layover show [0-9a-f-]{36}\n/);
      expect(stdout).toMatch(/✗ +1 run of mail@1 is dispatched again and again \(7 times\), and never claimed\./);
      expect(stdout).toMatch(
        /! +1 run of film@3 is claimed 4 times in a row and not finished: the invocations\s+die\./,
      );
      expect(status).toBe(1);
    });

    test("warns of workflows that are paused, since their runs do not begin", async () => {
      await database.query(
        `select layover.pause_workflow('{"workflow": "order", "by": "ada", "reason": "their API is down."}')`,
      );
      const { pauses } = await report({ DATABASE_URL: database.url });
      expect(pauses).toMatch(
        /^warning: The workflow order was paused .* by ada: their API is down\. Its runs do not begin\. → When they may: layover resume-workflow order$/,
      );
    });

    test("says which schedules do not fire", async () => {
      const define = (name: string, more: object) =>
        ({
          namespace: "default",
          name,
          definition: { workflow: "order", version: 9, everyMs: 3_600_000, ...more },
        }) as const;
      await database.pool.query("select layover.create_schedule($1)", [JSON.stringify(define("hourly", {}))]);
      const { schedules } = await report({ DATABASE_URL: database.url });
      expect(schedules).toBe(
        "problem: hourly: no live deployment carries version 9 of order. → See layover schedules show hourly",
      );
      await database.pool.query("delete from layover.schedule");
    });

    test("warns of the undos that failed for good, since what was done still stands", async () => {
      const failed =
        "status = 'failed', error = '0{}', ready_at = null, due_at = null, ended_at = layover.now(), failed_undos = ";
      await set(await start("film", 3), `${failed}0`);
      const run = await start("order", 1);
      await set(run, `${failed}1`);
      const { undos } = await report({ DATABASE_URL: database.url });
      expect(undos).toMatch(
        /^warning: 1 run of order@1 has ended since .*, and an undo of it failed for good: what was done still stands\. → Undo it by hand\. See layover show [0-9a-f-]{36}$/,
      );
      await set(await start("order", 1), `${failed}2`);
      expect((await report({ DATABASE_URL: database.url }))["undos"]).toMatch(
        /^warning: 2 runs of order@1 have ended since .*, and 3 undos of them failed for good: .* One of them: layover show/,
      );
    });

    test("warns of runs that were started with another contract than the one that is deployed", async () => {
      const run = await start("order", 1);
      await database.query("update layover.run set signature = '1111' where id = $1::uuid", [run]);
      await start("order", 1);
      await database.query(
        `insert into layover.deployment (namespace, name, id, versions, signatures, deployed_at, seen_at)
           values ('default', 'node', 'b1', '{"order": [1]}', '{"order": {"1": "2222"}}', now(), now())`,
      );
      const { contracts } = await report({ DATABASE_URL: database.url });
      expect(contracts).toBe(
        `warning: 1 run of order@1 was started with another contract than the one that is deployed as version 1. → Where a schema changes, raise the version: else what it takes may not fit the code. See layover show ${run}`,
      );
    });

    test("tells a copied database from its original, and lets it go on once it is adopted", {
      timeout: 60_000,
    }, async () => {
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

    test("tells a new address of the same database from another database at the same address", {
      timeout: 60_000,
    }, async () => {
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

    test("takes its time from the indexes, not from how many there are", async () => {
      await database.pool.query(`
        insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
          select layover.new_id(), 'default', 'order', 1, '0{}', true, now() from generate_series(1, 30000);
        insert into layover.run_state (run_id, namespace, status, last_record_at, due_at)
          select r.id, 'default', 'parked', now(), now() + interval '1 hour' from layover.run r;
        analyze layover.run, layover.run_state`);
      const seen = async () => {
        await database.pool.query("select pg_stat_force_next_flush()");
        const { rows } = await database.pool.query(
          "select sum(seq_tup_read)::int as rows from pg_stat_user_tables where schemaname = 'layover' and relname like 'run%'",
        );
        return Number(rows[0].rows);
      };
      const before = await seen();
      expect((await report({ DATABASE_URL: database.url }))["runs"]).toMatch(/^well: /);
      expect((await seen()) - before).toBeLessThan(30_000);
    });
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
