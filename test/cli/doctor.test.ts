/** What `layover doctor` says of what a deployment needs: its database, its address, its secret and its key. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { doctor, report } from "./doctor-report.ts";
import { layover, secret, secrets } from "./layover.ts";
import { napWorkflow } from "./workflows.ts";

const key = createApiKey(secrets, { name: "ops", namespace: "default", scopes });

/** A server of something else, which is healthy, too. */
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

  test("finds out why a key is refused", async () => {
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
});
