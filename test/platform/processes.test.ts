/** Two real processes on one Postgres: what one of them was to do when it ends, or is killed, the other one does. */
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { testDatabase } from "../postgres/database.ts";
import { napping, stuck } from "./process-workflows.ts";
import { ServerProcess } from "./server-process.ts";

const database = testDatabase();
const secret = randomBytes(32).toString("base64");
let namespaces = 0;
let namespace: string;
const processes: ServerProcess[] = [];

beforeEach(() => {
  namespaces += 1;
  namespace = `shop-${namespaces}`;
});
afterEach(async () => {
  for (const each of processes.splice(0)) await each.kill();
});

async function aProcess(env: Readonly<Record<string, string>> = {}) {
  const server = new ServerProcess(["--conditions=layover-source", "test/platform/process-server.ts"], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    env: { DATABASE_URL: database.url, LAYOVER_SECRET: secret, NAMESPACE: namespace, ...env },
  });
  processes.push(server);
  const [, url = ""] = await server.untilSaid(/listens on (\S+)/);
  const apiKey = createApiKey(new Secrets([secret]), { name: "test", namespace, scopes });
  return { server, client: new HttpClient({ url, apiKey }) };
}

async function untilListed(count: number): Promise<void> {
  const listed = async () =>
    (await database.query("select from layover.process where namespace = $1", [namespace])).length;
  await expect.poll(listed, { timeout: 20_000 }).toBe(count);
}

/** One of them holds a step and keeps a run that sleeps for so long. */
async function aPairAtWork(sleepMs: number) {
  const one = await aProcess({ HOLDS: "yes" });
  const held = await one.client.start(stuck);
  await one.server.untilSaid(/begins/);
  // The first tick of a process takes what is ready, so the other one comes when the step has begun.
  const other = await aProcess();
  await untilListed(2);
  const wakesAt = Date.now() + sleepMs;
  const asleep = await one.client.start(napping, wakesAt);
  await expect.poll(async () => (await asleep.get()).status, { timeout: 10_000 }).toBe("sleeping");
  const through = async () => {
    await Promise.all([other.client.run(stuck, held.runId).result(), other.client.run(napping, asleep.runId).result()]);
    return Date.now();
  };
  return { one, other, wakesAt, through };
}

test("what a process has at work when it is killed goes on in the other one within a minute, and so do its sleepers", {
  timeout: 180_000,
}, async () => {
  const { one, other, wakesAt, through } = await aPairAtWork(20_000);
  const killedAt = Date.now();
  await one.server.kill("SIGKILL");
  const { promise: woke, resolve } = Promise.withResolvers<number>();
  void other.server.untilSaid(/wakes/).then(() => resolve(Date.now()));
  const doneAt = await through();
  const lateMs = { ofSleep: (await woke) - wakesAt, ofStep: doneAt - (killedAt + 60_000) };
  console.log("after a kill, late by", lateMs);
  expect(lateMs.ofSleep).toBeLessThan(60_000);
  expect(lateMs.ofStep).toBeLessThan(60_000);
});

test("what a process has at work when it is asked to end goes on in the other one at once", async () => {
  const { one, wakesAt, through } = await aPairAtWork(3_000);
  await one.server.kill("SIGTERM");
  const endedAt = Date.now();
  await untilListed(1);
  const lateMs = (await through()) - Math.max(endedAt, wakesAt);
  console.log("after SIGTERM, late by", lateMs);
  expect(lateMs).toBeLessThan(5_000);
});
