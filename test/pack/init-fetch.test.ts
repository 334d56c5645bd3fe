/** One project for hosts that call a function, on the real Bun, Deno and Node, woken by the alarm on the real workerd. */
import { globSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";
import { beforeAll, describe, expect, type TestContext, test } from "vitest";
import { createApiKey } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { freePort } from "../free-port.ts";
import { bundled } from "../platform/a-worker.ts";
import { ServerProcess } from "../platform/server-process.ts";
import { openWorld } from "../platform/world.ts";
import { testDatabase } from "../postgres/database.ts";
import { carryOrderToItsEnd } from "./order.ts";
import { packed } from "./packed.ts";
import { scriptIn, secretsIn } from "./project.ts";
import { run } from "./run.ts";

const modules = fileURLToPath(new URL("../../node_modules/", import.meta.url));

/** The program as npm has brought it. The script that would put it elsewhere was not run. */
function programIn(pattern: string): string {
  const [program] = globSync(pattern, { cwd: modules });
  if (program === undefined) throw new Error(`npm has brought no ${pattern} for this machine`);
  return join(modules, program);
}

/** A server of Node's around what a host would call. */
const nodeServer = `
import { serve } from "@hono/node-server";
import host from "./functions/fetch.ts";
serve({ fetch: (request) => host.fetch(request), port: Number(process.env.PORT) }, () => console.log("Listening on"));
`;

const permissions = ["--allow-env", "--allow-net", "--allow-read", "--allow-sys"];
const runtimes: readonly (readonly [name: string, command: string, args: (port: string) => readonly string[]])[] = [
  ["Bun", programIn("@oven/*/bin/bun{,.exe}"), () => ["functions/fetch.ts"]],
  [
    "Deno",
    programIn("@deno/*/deno{,.exe}"),
    (port) => ["serve", "--env-file", "--port", port, ...permissions, "functions/fetch.ts"],
  ],
  ["Node", process.execPath, () => ["node-server.mjs"]],
];

let folder: string;
let secret: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "layover-project-"));
  const { npmEnv: env } = await packed();
  await run("npx", ["--yes", "layover", "init", "--on", "bun"], { cwd: folder, env });
  await run("npm", ["install", "--omit=dev"], { cwd: folder, env });
  writeFileSync(join(folder, "node-server.mjs"), nodeServer);
  secret = secretsIn(folder, ".env")["LAYOVER_SECRET"] ?? "";
  expect(scriptIn(folder, "start")).toBe("bun functions/fetch.ts");
});

/** Answers the address of the app `orders` at an alarm that rings at `url`. */
async function anAlarm(url: string, onTestFinished: TestContext["onTestFinished"]): Promise<string> {
  const miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "alarm.mjs", contents: await bundled("functions/alarm.ts") }],
    compatibilityDate: "2026-08-01",
    bindings: { APPS: { orders: url }, ORDERS_KEY: new Secrets([secret]).keyFor("alarm") },
    durableObjects: { ALARM: { className: "AppAlarm", useSQLite: true } },
    cf: false,
    telemetry: { enabled: false },
  });
  onTestFinished(async () => await miniflare.dispose());
  return `${(await miniflare.ready).origin}/apps/orders`;
}

/** What a runtime says when it listens. */
const listens = /listening on|started .*server/i;

describe.concurrent.each(runtimes)("on %s", (_, command, args) => {
  const database = testDatabase();

  test("an order comes to its end, and the alarm wakes one whose process was killed amid a step", async ({
    expect,
    onTestFinished,
  }) => {
    const clock = await database.turnClock();
    await clock.goOn();
    const world = await openWorld();
    onTestFinished(() => world.close());
    const port = String(await freePort());
    const url = `http://127.0.0.1:${port}`;
    const settings = {
      DATABASE_URL: database.url,
      EFFECTS_URL: world.url,
      LAYOVER_ALARM: await anAlarm(url, onTestFinished),
      LAYOVER_SECRET: secret,
      PORT: port,
      PUBLIC_URL: url,
    };
    const begin = async (deployment: string): Promise<ServerProcess> => {
      const env = { ...settings, LAYOVER_DEPLOYMENT: deployment };
      const server = new ServerProcess(args(port), { cwd: folder, command, env });
      onTestFinished(async () => void (await server.kill()));
      await server.untilSaid(listens);
      return server;
    };
    const key = createApiKey(new Secrets([secret]), { name: "me", namespace: "default", scopes: ["start", "read"] });
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
    const input = { customer: "Bob", amount: 7, items: [], address: { street: "1 Rose St", city: "London" } };

    const first = await begin("one");
    const held = world.hold("charge");
    const body = JSON.stringify({ input, id: "cut" });
    const started = await fetch(`${url}/v1/workflows/order/runs`, { method: "POST", headers, body });
    expect(started.status).toBe(201);
    const { runId } = Object(await started.json());
    await held.arrived;
    await first.kill();
    await clock.advance(120_000); // its lease is over

    const second = await begin("two");
    await carryOrderToItsEnd({ url, key, untilSaid: (pattern) => second.untilSaid(pattern) });
    // The alarm rings for the new code. Nothing else asks for the order that was cut off.
    const charged = async () => {
      const answer = await fetch(`${url}/v1/runs/${runId}`, { headers });
      return Object(await answer.json()).records;
    };
    await expect.poll(charged).toBeGreaterThan(0);
    expect(world.asked.filter((path) => path === "charge")).toHaveLength(3);
  });
});
