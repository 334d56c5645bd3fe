/**
 * `layover replay-check --at`: deployments on their hosts judge runs by the code that they carry. All values are encrypted, and
 * the command has no keys.
 */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { encrypted } from "layover/encryption";
import { serve as serveFetch } from "layover/fetch";
import type { LambdaOptions } from "layover/lambda";
import { serve as serveNode } from "layover/node";
import { replayCheck } from "layover/replay-check";
import { expect, onTestFinished, test } from "vitest";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { functionsOf } from "../../src/platform/lambda/serve.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { layover } from "../cli/layover.ts";
import { testDatabase } from "../postgres/database.ts";
import { testKeys } from "../postgres/encryption/keys.ts";
import { AWorker, bundled, secret, secrets } from "./a-worker.ts";
import { lambdaContext, lambdaEnv, quietServices } from "./lambda-ground.ts";
import { aStage } from "./worker-stage.ts";
import { after, before, contracts } from "./workers/trips.ts";

const database = testDatabase({ isOwn: true });
const stage = aStage(database);
const sealed = () => encrypted(database.query, testKeys);
const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });

/** Parks runs of each version by the code of before. */
async function park(each: number): Promise<void> {
  const server = await serveNode({
    workflows: before,
    database: sealed(),
    secrets: [secret],
    port: 0,
    onEvent: () => {},
  });
  try {
    for (const contract of contracts) {
      for (let count = 0; count < each; count += 1) {
        const run = await server.client.start(contract, stage.world.url);
        await expect.poll(async () => (await run.get()).status).toBe("waiting");
      }
    }
  } finally {
    await server.close();
  }
}

const check = (url: string, args: readonly string[] = [], apiKey = key) =>
  layover(["replay-check", "--at", url, ...args], { env: { LAYOVER_KEY: apiKey } });

async function aWorker(flags: readonly string[]): Promise<string> {
  const { url, fetchEndpoint } = stage.endpoint;
  const env = { DATABASE_URL: url, FETCH_ENDPOINT: fetchEndpoint };
  const script = await bundled("test/platform/workers/judging.ts");
  return (await AWorker.begin({ script, env, self: null, flags })).url;
}

async function aNodeServer(options: { readonly replayCheck?: ReturnType<typeof replayCheck> }): Promise<string> {
  const terms = {
    ...{ workflows: after, database: sealed(), secrets: [secret], deployment: "b1" },
    ...{ port: 0, onEvent: () => {} },
  };
  const server = await serveNode({ ...terms, ...options });
  onTestFinished(async () => await server.close());
  return server.url;
}

/** A server of HTTP whose requests the function URL of a Lambda gets, as API Gateway hands them on. */
async function aLambda(): Promise<string> {
  const options: LambdaOptions = {
    workflows: after,
    database: sealed,
    deployment: "b1",
    replayCheck: replayCheck(),
  };
  const runtime = {
    host: hostClock,
    engine: {},
    services: quietServices("https://orders.example", []),
    env: lambdaEnv,
  };
  const functions = functionsOf(options, runtime);
  return await served(async ({ method, url, headers, body }) => {
    const { pathname, search } = new URL(url);
    const event = {
      version: "2.0",
      routeKey: "$default",
      rawPath: pathname,
      rawQueryString: search.slice(1),
      headers,
      requestContext: { domainName: "orders.example", http: { method, path: pathname } },
      body,
      isBase64Encoded: false,
    };
    const given = event as unknown as Parameters<typeof functions.http>[0]; // as much of AWS' event as is read
    const answer = await functions.http(given, lambdaContext);
    const text = Buffer.from(answer.body, answer.isBase64Encoded ? "base64" : "utf8");
    return new Response(text, { status: answer.statusCode, headers: Object(answer.headers) });
  });
}

const aFetchHost = () => served(fetching("b1"));

function fetching(deployment: string): (asked: Asked) => Promise<Response> {
  const answer = serveFetch({
    workflows: after,
    database: sealed,
    secrets: () => [secret],
    publicUrl: () => "https://orders.example",
    deployment: () => deployment,
    replayCheck: replayCheck(),
  });
  return async ({ method, url, headers, body }) =>
    await answer(new Request(url, { method, headers, ...(method === "POST" && { body }) }));
}

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

async function served(answer: (asked: Asked) => Promise<Response>): Promise<string> {
  const server = createServer();
  server.on("request", async (request, response) => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const { method = "", url = "" } = request;
    const answered = await answer({ method, url: `https://orders.example${url}`, headers, body: await text(request) });
    response.writeHead(answered.status, Object.fromEntries(answered.headers)).end(await answered.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${Object(server.address()).port}`;
}

const hosts: Readonly<Record<string, () => Promise<string>>> = {
  Node: () => aNodeServer({ replayCheck: replayCheck() }),
  workerd: () => aWorker(["nodejs_als"]),
  "workerd with Node's modules": () => aWorker(["nodejs_compat"]),
  Lambda: aLambda,
  "a host with fetch": aFetchHost,
};

test.each(Object.entries(hosts))(
  "on %s it says what fits, blocks and reaches out, and carries nothing out",
  {
    timeout: 240_000,
  },
  async (_, begin) => {
    await park(3);
    const url = await begin();
    const said = await check(url, ["--json", "--all"]);
    expect(said).toMatchObject({ status: 2, stderr: "" });
    const { groups, deployment, ...counts } = JSON.parse(said.stdout);
    expect(deployment).toEqual({ name: expect.stringMatching(/^(node|cloudflare|lambda|fetch)$/), id: "b1" });
    expect(counts).toEqual({ outcome: "blocks", runs: 12, replayed: 12 });
    const ofVersion = (version: number) => groups.find((group: { version: number }) => group.version === version);
    expect(ofVersion(1)?.verdicts).toEqual(Array(3).fill({ runId: expect.any(String), outcome: "fits" }));
    expect(ofVersion(2)?.verdicts[0]).toMatchObject({
      outcome: "blocks",
      position: 0,
      expected: "step pack",
      instead: [{ place: "unpack" }],
    });
    const outside = (what: string) => ({ outcome: "blocks", reason: `the code calls ${what} outside of a step` });
    expect(ofVersion(3)?.verdicts[0]).toMatchObject(outside("fetch"));
    expect(ofVersion(4)?.verdicts[0]).toMatchObject(outside("setTimeout"));
    const moving = await layover(
      [
        "upgrade",
        "trip",
        "--from",
        "3",
        "--to",
        "5",
        "--at",
        url,
        "--status",
        "waiting",
        "--dry-run",
        "--deployment",
        "b1",
      ],
      { env: { LAYOVER_KEY: key } },
    );
    expect(moving).toMatchObject({ status: 0, stdout: "3 runs: 3 fit.\nNothing was moved.\n" });
    expect(stage.world.asked).toEqual([]);
    expect(await check(url, ["--version", "1", "--deployment", "b1"])).toMatchObject({
      status: 0,
      stdout: `All fit. 3 of 3 runs were replayed, in 1 group.\nThe code of build b1 of ${deployment.name} was asked.\n`,
    });
    const other = await check(url, ["--version", "1", "--deployment", "b2", "--json"]);
    expect(other).toMatchObject({ status: 6, stdout: "" });
    expect(other.stderr).toMatch(/^Build b1 of \w+ has answered, and not b2: nothing is judged\./);
  },
);

test("is not green where nothing was examined, where nothing judges, and where it does not answer", {
  timeout: 240_000,
}, async () => {
  const url = await aNodeServer({ replayCheck: replayCheck() });
  expect(await check(url)).toMatchObject({ status: 4, stdout: expect.stringContaining("Nothing was examined") });
  const bare = await check(await aNodeServer({}));
  expect(bare).toMatchObject({ status: 1, stderr: expect.stringContaining("judges no runs") });
  expect(await check("http://127.0.0.1:1")).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("Nobody answers"),
  });
  const lesser = createApiKey(secrets, { name: "lesser", namespace: "default", scopes: ["read"] });
  expect(await check(url, [], lesser)).toMatchObject({ status: 1, stderr: expect.stringContaining("scope admin") });
  expect(await check(url, ["workflows.ts"])).toMatchObject({ status: 1, stderr: expect.stringContaining("With --at") });
  await park(1);
  const flagless = await check(await aWorker([]));
  expect(flagless).toMatchObject({ status: 1, stderr: expect.stringContaining("nodejs_als") });
});

test("sends headers that lead to a version, and names the run about which it gets no answer", {
  timeout: 240_000,
}, async () => {
  await park(1);
  const answer = fetching("b1");
  const seen = new Set<string | undefined>();
  let lost: string | undefined;
  const front = await served(async (asked) => {
    seen.add(asked.headers["x-version"]);
    const isLost = lost !== undefined && asked.body.includes(lost);
    return isLost ? new Response("error code: 1102", { status: 500 }) : await answer(asked);
  });
  const ask = () => check(front, ["--version", "1", "--header", "x-version: next"]);
  expect(await ask()).toMatchObject({ status: 0 });
  expect([...seen]).toEqual(["next"]);
  const { rows } = await database.pool.query("select id from layover.run where version = 1");
  lost = String(rows[0].id);
  expect(await ask()).toMatchObject({ status: 1, stderr: expect.stringContaining(`no answer about the run ${lost}`) });
});

test("says so when requests are led to another build than the one that is meant, or to several", {
  timeout: 240_000,
}, async () => {
  await park(1);
  const builds = { b1: fetching("b1"), b2: fetching("b2") };
  const front = await served(async (asked) => await builds[asked.method === "GET" ? "b1" : "b2"](asked));
  const said = await check(front, ["--version", "1"]);
  expect(said).toMatchObject({ status: 6, stdout: "", stderr: expect.stringContaining("Two builds have answered") });
  const meant = await check(front, ["--version", "1", "--deployment", "b1"]);
  expect(meant).toMatchObject({ status: 6, stdout: "", stderr: expect.stringContaining("and not b1") });
  const lost = await layover(["replay-check", "--deployment", "b1"]);
  expect(lost).toMatchObject({ status: 1, stderr: expect.stringContaining("--at is left out") });
});
