import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { dev as command } from "../../src/cli/dev/dev.ts";
import { createApiKey, readApiKey, scopes } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { signed } from "../standard-webhooks.ts";
import { madeFolder } from "./databases.ts";
import { DevServer } from "./dev-server.ts";
import { ServerProcess } from "./server-process.ts";

let folder: string;
let servers: DevServer[];

const made = madeFolder();

async function dev(args: readonly string[]): Promise<void> {
  await command
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .parseAsync([...args, "--no-reload"], { from: "user" });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "layover-dev-"));
  servers = [];
});
afterEach(async () => {
  for (const server of servers) if (server.isRunning) await server.kill();
  rmSync(folder, { recursive: true });
});

/** One of the reference deployment. */
async function aReferenceServer(env: Readonly<Record<string, string>>): Promise<DevServer> {
  if (!existsSync(join(folder, "data"))) made.copyTo(join(folder, "data"));
  const server = new DevServer({ data: join(folder, "data"), env });
  servers.push(server);
  await server.listening();
  return server;
}

async function aServer(port = 0): Promise<DevServer> {
  if (!existsSync(join(folder, "data"))) made.copyTo(join(folder, "data"));
  const server = new DevServer({
    data: join(folder, "data"),
    port,
    module: "test/platform/states.ts",
    env: { LAYOVER_TEST_BODIES: bodies() },
  });
  servers.push(server);
  await server.listening();
  return server;
}

const bodies = () => join(folder, "bodies");

/** How often a body ran. */
function ran(body: string): number {
  if (!existsSync(bodies())) return 0;
  return readFileSync(bodies(), "utf8")
    .split("\n")
    .filter((line) => line === body).length;
}

async function start(server: DevServer, workflow: string, name: string = workflow): Promise<string> {
  const { status, body } = await server.api("POST", `/v1/workflows/${workflow}/runs`, { id: name, input: { name } });
  expect(status).toBe(201);
  return String(body["runId"]);
}

async function statusOf(server: DevServer, runId: string): Promise<unknown> {
  return (await server.api("GET", `/v1/runs/${runId}`)).body["status"];
}

async function resultOf(server: DevServer, runId: string): Promise<unknown> {
  const { body } = await server.api("GET", `/v1/runs/${runId}/result?wait=15s`);
  expect(body).toMatchObject({ status: "completed" });
  return body["result"];
}

const patience = { timeout: 20_000, interval: 50 };

describe("a development server", () => {
  test("that is killed goes on with every run as it was, when it is started again on its folder", async () => {
    const first = await aServer();
    const parked = {
      sleeping: await start(first, "sleeping"),
      retrying: await start(first, "retrying"),
      waiting: await start(first, "waiting"),
    };
    for (const [status, runId] of Object.entries(parked)) {
      await expect.poll(() => statusOf(first, runId), patience).toBe(status);
    }
    const branching = await start(first, "branching");
    await expect.poll(() => ran("branching-slow") + ran("branching-retried"), patience).toBe(2);
    const slow: string[] = [];
    for (let number = 1; number <= 63; number += 1) slow.push(await start(first, "slow", `slow-${number}`));
    await expect.poll(() => ran("slow-63"), patience).toBe(1);
    const quick = await start(first, "quick");
    expect(await resultOf(first, quick)).toBe("quick, time 1"); // slow ones keep nobody from beginning
    expect(await statusOf(first, branching)).toBe("running");
    await first.kill();

    const second = await aServer(first.port);
    expect(second.key).toBe(first.key);
    await second.api("POST", `/v1/runs/${parked.waiting}/signals/go`, { payload: "gone" });
    expect(await resultOf(second, quick)).toBe("quick, time 1");
    expect(await resultOf(second, branching)).toBe("time 1, branching-slow, branching-retried");
    for (const [index, runId] of slow.entries()) expect(await resultOf(second, runId)).toBe(`slow-${index + 1}`);
    expect(await resultOf(second, parked.waiting)).toBe("gone");
    expect(await resultOf(second, parked.retrying)).toBe("retrying");
    expect(await resultOf(second, parked.sleeping)).toBe("sleeping, time 1");
    // Only what was cut off ran again.
    expect(["sleeping-before", "waiting-before", "branching-quick", "slow-1", "branching-slow"].map(ran)).toEqual([
      1, 1, 1, 2, 2,
    ]);
  });

  test("keeps its folder and its port to itself, sends browsers to its dashboard, survives a forgotten promise, and ends in peace when it is asked to", async () => {
    const server = await aServer();
    const data = join(folder, "data");
    await expect(dev(["test/platform/states.ts", "--data", data])).rejects.toThrow(
      `The process ${server.pid} has the data folder ${data} open. Only one can at a time: end the other one, or use another folder.`,
    );
    made.copyTo(join(folder, "other"));
    await expect(
      dev(["test/platform/states.ts", "--data", join(folder, "other"), "--port", String(server.port)]),
    ).rejects.toMatchObject({
      message: `The port ${server.port} is in use.`,
      hint: `Use another one: layover dev --port ${server.port + 1}`,
    });
    expect(["secret", "api-key"].map((file) => statSync(join(data, file)).mode & 0o777)).toEqual([0o600, 0o600]);
    expect(readFileSync(join(data, ".gitignore"), "utf8")).toBe("*\n");

    const home = await fetch(server.url);
    expect(home.url).toBe(`${server.url}/dashboard/sign-in`);
    expect(await home.text()).not.toContain(server.key);
    await server.untilSaid(/dashboard\/sign-in#lok_/);

    expect(await resultOf(server, await start(server, "careless"))).toBe("careless, time 1");
    await server.untilSaid(/error while settling a promise that nobody awaits: Error: forgotten/);
    expect(await server.kill("SIGTERM")).toBe(0);
  });
});

test("a development server whose key an earlier release made gets one with every scope", async () => {
  const server = await aServer();
  await server.kill();
  const data = join(folder, "data");
  const secrets = new Secrets([readFileSync(join(data, "secret"), "utf8").trim()]);
  const old = createApiKey(secrets, {
    name: "dev",
    namespace: "default",
    scopes: ["start", "read", "signal", "admin"],
  });
  writeFileSync(join(data, "api-key"), `${old}\n`);
  const next = await aServer();
  expect(readApiKey(next.key)?.scopes).toEqual(scopes);
  const headers = { authorization: `Bearer ${old}` };
  expect((await fetch(`${next.url}/v1/runs`, { headers })).status).toBe(200); // it is in somebody's shell
});

test("a development server ends when npm, which began it, is killed", async () => {
  made.copyTo(join(folder, "data"));
  const args = ["--conditions=layover-source", "src/cli/main.ts", "dev", "--data", join(folder, "data"), "--port", "0"];
  const begin = `require("node:child_process").spawn(process.execPath, ${JSON.stringify(args)}, { stdio: "inherit" })`;
  const npm = new ServerProcess(["-e", begin], { cwd: process.cwd(), env: { npm_lifecycle_event: "dev" } });
  await npm.untilSaid(/KEY=/);
  await npm.kill(); // resolves when nobody holds its output any more, the server included
});

const hasCurl = spawnSync("curl", ["--version"]).error === undefined;

test.skipIf(!hasCurl)(
  "the lines that a development server prints carry an order to its end, as they stand",
  { timeout: 60_000 },
  async () => {
    made.copyTo(join(folder, "data"));
    const server = new DevServer({ data: join(folder, "data") });
    servers.push(server);
    await server.listening();
    const lines = server.output.split("\n").filter((line) => /^(KEY|RUN|curl|LAYOVER_URL)/.test(line));
    const callback = lines.findIndex((line) => line.includes('"$URL"'));
    const before = sh(lines.slice(0, callback).join("\n"));
    const [runId, look, history, signal] = before.trim().split("\n");
    expect(JSON.parse(look ?? "")).toMatchObject({ runId, workflow: "order" });
    expect(JSON.parse(history ?? "")).toMatchObject({ runId });
    expect(JSON.parse(signal ?? "")).toMatchObject({ outcome: "sent" });
    const [url] = await server.untilSaid(/http:\S+\/callbacks\/[\w.-]+/);
    const after = sh([lines[0], `RUN=${runId} URL=${url}`, ...lines.slice(callback)].join("\n"));
    const [, result, ...runs] = after.trim().split("\n");
    expect(JSON.parse(result ?? "")).toMatchObject({ status: "completed", result: { address: { city: "Turin" } } });
    expect(runs.join("\n")).toMatch(/order.*completed/);
  },
);

function sh(script: string): string {
  return execFileSync("sh", ["-c", script], { encoding: "utf8" });
}

describe("layover dev says what is wrong and what to do", () => {
  const port = "Use a free one: layover dev --port 3001";
  const modules = "Name the module that exports your workflows: layover dev src/workflows.ts";

  test.each([
    [["--port", "web"], 'The port "web" is no number from 0 to 65535.', port],
    [["--port", "65536"], 'The port "65536" is no number from 0 to 65535.', port],
    [["--data", ""], "The data folder has no name.", "Name one that you may write to: layover dev --data FOLDER"],
    [["nowhere.ts"], `There is no nowhere.ts in ${process.cwd()}.`, modules],
    [["src/core"], `There is no src/core/index.ts in ${process.cwd()}.`, modules],
    [
      ["src/core/limits.ts"],
      "src/core/limits.ts exports no workflow.",
      "Export what `contract.handler(…)` answers, or an array of these.",
    ],
  ])("%j", async (args, message, hint) => {
    await expect(dev(args)).rejects.toMatchObject({ message, hint });
  });

  test.each([
    [["--prot", "1"], "'--prot'"],
    [["a.ts", "b.ts"], "too many arguments"],
  ])("of arguments that there are not: %j", async (args, message) => {
    await expect(dev(args)).rejects.toThrow(message);
  });

  test("of a module that throws, with its error", async () => {
    const file = join(folder, "broken.ts");
    writeFileSync(file, 'throw new Error("no such setting");');
    await expect(dev([file])).rejects.toThrow(/broken\.ts could not be loaded: Error: no such setting\n {4}at /);
  });

  test("of a data folder that cannot be made", async () => {
    writeFileSync(join(folder, "file"), "");
    await expect(dev(["test/platform/states.ts", "--data", join(folder, "file", "data")])).rejects.toMatchObject({
      message: expect.stringContaining("cannot be used: ENOTDIR"),
      hint: "Choose a folder that you may write to: layover dev --data FOLDER",
    });
  });
});

test("the webhooks of functions/webhooks are served beside the workflows, with the variables of the process", async () => {
  const secret = `whsec_${btoa("a secret of the shop")}`;
  const server = await aReferenceServer({ SHOP_SECRET: secret });
  expect(server.output).toContain(`${server.url}/webhooks/shop`);
  const order = { customer: "Ada", amount: 42, items: [], address: { street: "1 Rose St", city: "London" } };
  const body = JSON.stringify({ type: "order.placed", id: "o1", order });
  const response = await fetch(`${server.url}/webhooks/shop`, signed({ id: "d1", body, secret }));
  expect(await response.json()).toMatchObject({ outcome: "done", delivery: "d1" });
  const { body: listed } = await server.api("GET", "/v1/runs");
  expect(listed).toMatchObject({ runs: [{ workflow: "order", id: "o1" }] });
  const malformed = JSON.stringify({ type: "order.placed", id: "o2", order: { ...order, amount: "42" } });
  await fetch(`${server.url}/webhooks/shop`, signed({ id: "d2", body: malformed, secret }));
  const { body: open } = await server.api("GET", "/v1/deliveries?open=true");
  expect(open).toMatchObject({
    deliveries: [{ id: "d2", outcome: "refused", reason: expect.stringContaining("type: ") }],
  });
});
