import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { encrypted } from "layover/encryption";
import { replayCheck } from "layover/replay-check";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import type { Run } from "../../src/client/run.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { testKeys } from "../postgres/encryption/keys.ts";
import { commandLine, layover, secret, secrets } from "./layover.ts";
import { first, firstWorkflow, secondWorkflow } from "./upgraded-workflows.ts";

const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });
const lesser = createApiKey(secrets, { name: "lesser", namespace: "default", scopes: ["start", "read"] });
const code = join(import.meta.dirname, "upgraded-workflows.ts");
type Trip = Run<typeof first>;

describe("layover upgrade", () => {
  const database = testDatabase({ isOwn: true });
  let servers: NodeServer[] = [];
  beforeEach(async () => {
    const options = { workflows: [firstWorkflow, secondWorkflow], database: database.query, secrets: [secret] };
    servers = [
      await serve({ ...options, port: 0, onEvent: () => {} }),
      await serve({ ...options, port: 0, onEvent: () => {} }),
    ];
  });
  afterEach(async () => {
    for (const server of servers) await server.close();
  });

  const clientOf = (index: number) => new HttpClient({ url: servers[index]?.url ?? "", apiKey: key });
  const upgrade = (args: readonly string[], apiKey = key) =>
    layover(["upgrade", "trip", code, "--from", "1", "--to", "2", ...args], {
      env: { DATABASE_URL: database.url, LAYOVER_URL: servers[0]?.url ?? "", LAYOVER_KEY: apiKey },
    });
  const start = (load: "plain" | "odd" | "old", index = 0, tags = {}): Promise<Trip> =>
    clientOf(index).start(first, { load }, { tags });
  const untilWaiting = (run: Trip) => expect.poll(async () => (await run.get()).status).toBe("waiting");
  async function parked(load: "plain" | "odd" | "old"): Promise<Trip> {
    const run = await start(load);
    await untilWaiting(run);
    return run;
  }
  const versionOf = async (run: Trip) => (await run.get()).version;

  test("moves what fits and nothing else, and says why", { timeout: 240_000 }, async () => {
    expect(await upgrade([])).toMatchObject({ status: 4, stdout: expect.stringContaining("Nothing was examined") });
    const [plain, odd, old, sent] = [
      await parked("plain"),
      await parked("odd"),
      await parked("old"),
      await parked("plain"),
    ];
    await sent.signal("go", "x");
    const dry = await upgrade(["--dry-run"]);
    expect(dry).toMatchObject({ status: 2, stderr: "" });
    expect(dry.stdout).toContain("4 runs: 1 fit, 2 refused by the version's contract, 1 would be blocked.");
    expect(dry.stdout).toContain("Nothing was moved.");
    expect(await versionOf(plain)).toBe(1);

    expect(await upgrade([], lesser)).toMatchObject({ status: 1, stderr: expect.stringContaining("scope admin") });
    const { status, stdout } = await upgrade(["--json", "--by", "ada", "--reason", "wrong tax"]);
    expect(status).toBe(2);
    const { counts, runs } = JSON.parse(stdout);
    expect(counts).toEqual({ moved: 1, refused: 2, blocks: 1 });
    const reasonOf = ({ runId }: Trip) => runs.find((run: { runId: string }) => run.runId === runId)?.reason;
    expect(reasonOf(odd)).toMatch(/step pack .* step unpack/);
    expect(reasonOf(old)).toMatch(/the input of workflow "trip"/);
    expect(reasonOf(sent)).toMatch(/the signal "go", which it has not taken/);
    expect(await Promise.all([plain, odd, old, sent].map(versionOf))).toEqual([2, 1, 1, 1]);
    expect((await plain.history()).operations).toMatchObject([{ verb: "upgrade", by: "ada", reason: "wrong tax" }]);

    expect(JSON.parse((await upgrade(["--json"])).stdout).counts).toEqual({ refused: 2, blocks: 1 });
    await plain.signal("gate", "a");
    await plain.signal("go", "north");
    expect(await plain.result({ wait: "30s" })).toBe("2 a north");
  });

  test("leaves the exit code 0 where all were moved, and looks at the runs that are named alone", {
    timeout: 240_000,
  }, async () => {
    const [one, other] = [await parked("plain"), await parked("odd")];
    expect(await upgrade(["--run", one.runId])).toMatchObject({ status: 0, stdout: "1 run: 1 moved.\n" });
    expect(await upgrade(["--run", other.runId])).toMatchObject({ status: 2 });
  });

  test("moves the runs that are meant by their tags, their status and their time", { timeout: 240_000 }, async () => {
    const [eu, us] = [await start("plain", 0, { region: "eu" }), await start("plain", 0, { region: "us" })];
    for (const run of [eu, us]) await untilWaiting(run);
    const paused = await parked("plain");
    await paused.pause();
    const between = (await us.get()).createdAt.toISOString();
    const late = await parked("plain");
    const until = (await late.get()).createdAt.toISOString();
    const counts = async (args: readonly string[]) => JSON.parse((await upgrade([...args, "--json"])).stdout).counts;
    expect(await counts(["--dry-run", "--created-from", between])).toEqual({ fits: 3 });
    expect(await counts(["--dry-run", "--created-before", until, "--status", "waiting"])).toEqual({ fits: 2 });
    expect(await counts(["--tag", "region:eu"])).toEqual({ moved: 1 });
    expect(await counts(["--status", "paused"])).toEqual({ moved: 1 });
    expect(await Promise.all([eu, us, paused, late].map(versionOf))).toEqual([2, 1, 2, 1]);
    const none = await upgrade(["--tag", "region:eu"]);
    expect(none).toMatchObject({ status: 4, stdout: expect.stringContaining("Nothing was examined") });
    expect(await upgrade(["--status", "completed"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("choices"),
    });
  });

  test.each(["before", "after"] as const)(
    "killed %s a move takes effect, it has moved some, and moves the rest when it is run again",
    { timeout: 240_000 },
    async (when) => {
      const runs: Trip[] = [];
      for (let count = 0; count < 5; count += 1) runs.push(await parked("plain"));
      const child = { kill: () => {} };
      let moves = 0;
      const url = await aFront(servers[0]?.url ?? "", async (path, forward) => {
        if (!path.endsWith("/upgrade")) return await forward();
        moves += 1;
        if (moves < 3) return await forward();
        if (when === "after") await forward();
        child.kill();
        return undefined;
      });
      const env = { DATABASE_URL: database.url, LAYOVER_URL: url, LAYOVER_KEY: key };
      const { command, args, options } = commandLine(["upgrade", "trip", code, "--from", "1", "--to", "2"], { env });
      const killed = spawn(command, args, { ...options, stdio: "ignore" });
      child.kill = () => killed.kill("SIGKILL");
      const ended = await new Promise((resolve) => killed.on("close", (_, signal) => resolve(signal)));
      expect(ended).toBe("SIGKILL");
      const isMoved = when === "after" ? 3 : 2;
      const versions = (await Promise.all(runs.map(versionOf))).toReversed(); // the newest run first
      expect(versions).toEqual(runs.map((_, index) => (index < isMoved ? 2 : 1)));
      expect(await upgrade([])).toMatchObject({ status: 0, stdout: `${5 - isMoved} runs: ${5 - isMoved} moved.\n` });
      for (const run of runs) {
        expect((await run.history()).operations.map(({ verb }) => verb)).toEqual(["upgrade"]);
        await run.signal("gate", "a");
        await run.signal("go", "north");
        expect(await run.result({ wait: "30s" })).toBe("2 a north");
      }
    },
  );

  test("stopped by Ctrl-C it ends after the run under way, says what was moved and how to go on", {
    timeout: 240_000,
  }, async () => {
    for (let count = 0; count < 3; count += 1) await parked("plain");
    const child = { kill: () => {} };
    const url = await aFront(servers[0]?.url ?? "", async (path, forward) => {
      if (path.endsWith("/upgrade")) child.kill();
      return await forward();
    });
    const env = { DATABASE_URL: database.url, LAYOVER_URL: url, LAYOVER_KEY: key };
    const { command, args, options } = commandLine(["upgrade", "trip", code, "--from", "1", "--to", "2"], { env });
    const stopped = spawn(command, args, options);
    child.kill = () => stopped.kill("SIGINT");
    const status = new Promise((resolve) => stopped.on("close", resolve));
    const [stdout, stderr] = await Promise.all([text(stopped.stdout), text(stopped.stderr)]);
    expect(await status).toBe(130);
    expect(stdout).toBe("1 run: 1 moved.\n");
    expect(stderr).toContain("the same command again");
  });

  test("works beside runs that start, step, get signals and are cancelled, and each ends right", {
    timeout: 240_000,
  }, async () => {
    const loads = ["plain", "odd", "plain", "old"] as const;
    const runs: { readonly run: Trip; readonly load: (typeof loads)[number]; isCancelled: boolean }[] = [];
    for (let index = 0; index < 24; index += 1) {
      const load = loads[index % 4] ?? "plain";
      runs.push({ run: await start(load, index % 2), load, isCancelled: false });
    }
    const kept = runs.slice(0, 12);
    for (const { run } of kept) await untilWaiting(run);
    let isUpgrading = true;
    const upgrades = (async () => {
      const told = await Promise.all([upgrade(["--json"]), upgrade(["--json"])]); // two at once
      told.push(await upgrade(["--json"]));
      isUpgrading = false;
      return told;
    })();
    for (let index = 0; isUpgrading && index < 300; index += 1) {
      const load = loads[index % 4] ?? "plain";
      if (runs.length < 60) runs.push({ run: await start(load, index % 2), load, isCancelled: false });
      const one = runs[12 + (index % (runs.length - 12))];
      if (one === undefined) continue;
      if (index % 7 === 0 && !one.isCancelled) {
        one.isCancelled = true;
        await one.run.cancel();
      } else if (!one.isCancelled && index % 3 === 0) {
        await one.run.signal("gate", "a", { dedupeId: "gate" }).catch(ignoreOver);
      }
    }
    const told = await upgrades;
    for (const { status } of told) expect([0, 2, 5]).toContain(status);
    for (const { run, isCancelled } of runs) {
      if (isCancelled) continue;
      await run.signal("gate", "a", { dedupeId: "gate" }).catch(ignoreOver);
      await run.signal("go", "north", { dedupeId: "go" }).catch(ignoreOver);
    }
    let moved = 0;
    for (const { run, load, isCancelled } of runs) {
      const isOver = async () => ["completed", "cancelled"].includes((await run.get()).status);
      await expect.poll(isOver, { timeout: 60_000 }).toBe(true);
      const { status, version, result } = await run.get();
      if (load !== "plain") expect(version).toBe(1);
      expect(status === "cancelled").toBe(isCancelled);
      if (!isCancelled) expect(result).toBe(`${version} a north`);
      const { operations } = await run.history();
      expect(operations.filter(({ verb }) => verb === "upgrade")).toHaveLength(version - 1);
      moved += version - 1;
    }
    expect(moved).toBeGreaterThanOrEqual(6); // those that nobody touched meanwhile
    for (const { run, load } of kept) expect(await versionOf(run)).toBe(load === "plain" ? 2 : 1);
    console.log(`${moved} of ${runs.length} runs were moved`);
  });
});

describe("layover upgrade of encrypted runs", () => {
  const database = testDatabase({ isOwn: true });

  test("is refused where there are no keys, and done by a deployment that has them", { timeout: 240_000 }, async () => {
    const sealed = encrypted(database.query, testKeys);
    const terms = { workflows: [firstWorkflow, secondWorkflow], database: sealed, secrets: [secret], port: 0 };
    const server = await serve({ ...terms, deployment: "b1", replayCheck: replayCheck(), onEvent: () => {} });
    onTestFinished(async () => await server.close());
    const client = new HttpClient({ url: server.url, apiKey: key });
    const runs: Trip[] = [];
    for (const load of ["plain", "odd", "plain"] as const) runs.push(await client.start(first, { load }));
    for (const run of runs) await expect.poll(async () => (await run.get()).status).toBe("waiting");
    const versions = async () => await Promise.all(runs.map(async (run) => (await run.get()).version));
    const env = { DATABASE_URL: database.url, LAYOVER_URL: server.url, LAYOVER_KEY: key };
    const here = await layover(["upgrade", "trip", code, "--from", "1", "--to", "2"], { env });
    expect(here).toMatchObject({ status: 1, stdout: "" });
    expect(here.stderr).toMatch(/encrypted, and this command has no keys\.\n.*layover upgrade … --at URL/s);
    for (const args of [
      ["replay-check", code],
      ["replay", runs[0]?.runId ?? "", code],
    ]) {
      const said = await layover(args, { env });
      expect(said).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("encrypted, and this command has no keys"),
      });
    }
    expect(await versions()).toEqual([1, 1, 1]);
    const at = ["--from", "1", "--to", "2", "--at", server.url, "--json"];
    const env2 = { LAYOVER_KEY: key };
    const other = await layover(["upgrade", "trip", ...at, "--deployment", "b0"], { env: env2 });
    expect(other).toMatchObject({ status: 6, stderr: expect.stringContaining("Build b1 of node has answered") });
    const { status, stdout } = await layover(["upgrade", "trip", ...at, "--deployment", "b1"], { env: env2 });
    expect([status, JSON.parse(stdout).counts]).toEqual([2, { moved: 2, blocks: 1 }]);
    expect(await versions()).toEqual([2, 1, 2]);
    const far = await layover(["upgrade", "trip", "--from", "1", "--to", "3", "--at", server.url], { env: env2 });
    expect(far).toMatchObject({ status: 1, stderr: expect.stringContaining("no version 3 of trip") });
  });
});

/** A server before a deployment. `answer` hands a request on, and answers nothing by undefined. */
async function aFront(
  behind: string,
  answer: (path: string, forward: () => Promise<Response>) => Promise<Response | undefined>,
): Promise<string> {
  const server = createServer();
  server.on("request", async (request, response) => {
    const { method = "", url = "" } = request;
    const named = ["authorization", "accept", "content-type"].flatMap((name) => {
      const value = request.headers[name];
      return typeof value === "string" ? [[name, value]] : [];
    });
    const headers = Object.fromEntries(named);
    const body = method === "POST" ? await text(request) : undefined;
    const answered = await answer(url, () =>
      fetch(`${behind}${url}`, { method, headers, ...(body !== undefined && { body }) }),
    );
    if (answered === undefined) return;
    const type = answered.headers.get("content-type") ?? "";
    response.writeHead(answered.status, { "content-type": type }).end(await answered.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${Object(server.address()).port}`;
}

function ignoreOver(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "run_over")) throw error;
}
