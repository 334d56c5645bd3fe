/** `layover tail`, `layover runs --watch`: what they tell, how often they look, and how they end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, test } from "vitest";
import { follow, type Look } from "../../src/cli/runs/follow.ts";
import { ChangedRuns, OneRun } from "../../src/cli/runs/news.ts";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { aHastyHost } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { commandLine, layover, secret, secrets } from "./layover.ts";
import { napWorkflow } from "./workflows.ts";

const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });

describe("whoever follows", () => {
  const lookerOf = (...looks: readonly Look[]) => {
    const left = [...looks];
    return { look: async () => left.shift() ?? "none", left };
  };
  const terms = { everyMs: 2_000, quietMs: 60_000 };

  test("looks less often while nothing comes, often again after news, and ends after the quiet time", async () => {
    const host = aHastyHost();
    const { look } = lookerOf("none", "none", "news");
    expect(await follow(look, terms, { host })).toBe("quiet");
    expect(host.pauses).toEqual([3_000, 4_500, 2_000, 3_000, 4_500, 6_750, 10_125, 15_000, 15_000, 3_625]);
  });

  test("ends at once when all is over, and when it is told to stop", async () => {
    const host = aHastyHost();
    expect(await follow(lookerOf("news", "over").look, terms, { host })).toBe("over");
    expect(host.pauses).toEqual([2_000]);
    const stop = new AbortController();
    const look = async (): Promise<Look> => {
      stop.abort();
      return "news";
    };
    expect(await follow(look, terms, { host, abortSignal: stop.signal })).toBe("stopped");
  });
});

describe("the commands that follow", () => {
  const database = testDatabase({ isOwn: true });
  let server: NodeServer | undefined;

  const deployed = async () => {
    server = await serve({
      workflows: [napWorkflow],
      database: database.query,
      secrets: [secret],
      port: 0,
      onEvent: () => {},
    });
    return { client: new HttpClient({ url: server.url, apiKey: key }), own: server.client };
  };
  const env = () => ({ LAYOVER_URL: server?.url ?? "", LAYOVER_KEY: key });

  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  test("tell of runs which one comes or changes, each change once", async () => {
    const { client, own } = await deployed();
    const changed = new ChangedRuns();
    const news = async () => changed.of((await client.list()).runs).map(({ id, was, status }) => [id, was, status]);
    const one = await own.start(napWorkflow.contract, undefined, { id: "n1", delay: "1 day" });
    expect(await news()).toEqual([["n1", undefined, "sleeping"]]);
    await own.start(napWorkflow.contract, undefined, { id: "n2", delay: "1 day" });
    await one.pause();
    expect(await news()).toEqual([
      ["n1", "sleeping", "paused"],
      ["n2", undefined, "sleeping"],
    ]);
    expect(await news()).toEqual([]);
  });

  test("tell of one run its operations, and that it is over, each once", async () => {
    const { client, own } = await deployed();
    const run = await own.start(napWorkflow.contract, undefined, { delay: "1 day" });
    await run.pause({ by: "ada" });
    const one = new OneRun(client, run.runId, 10);
    const told = async () => {
      const { news, isOver } = await one.look();
      return [
        news.map((each) => (each.event === "run" ? each.status : each.event === "operation" ? each.verb : each.event)),
        isOver,
      ];
    };
    expect(await told()).toEqual([["paused"], false]);
    await run.resume({ by: "bob" });
    expect(await told()).toEqual([["resume", "sleeping"], false]);
    expect(await told()).toEqual([[], false]);
    await run.terminate();
    expect(await told()).toEqual([["terminate", "cancelled"], true]);
  });

  test("end when the run is over or nothing comes, say what they cost, and write JSON a line an event", async () => {
    const { own } = await deployed();
    const run = await own.start(napWorkflow.contract, undefined, { id: "n1", delay: "1 day" });
    const quiet = await layover(["runs", "--watch", "--quiet-for", "100ms", "--every", "100ms", "--json"], {
      env: env(),
    });
    expect(quiet.status).toBe(0);
    expect(
      quiet.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toMatchObject([{ event: "run", runId: run.runId, status: "sleeping", workflow: "nap" }]);
    expect(quiet.stderr).toMatch(/the database does not sleep meanwhile.*\nNothing new came for that long\.\n$/);
    await run.terminate();
    const over = await layover(["tail", "nap/n1"], { env: env() });
    expect([over.status, over.stdout]).toEqual([
      0,
      expect.stringMatching(/^\S+ \S+ {2}nap@1 n1 {2}cancelled {2}0 records/),
    ]);
  });

  test("end by Ctrl-C", async () => {
    const { own } = await deployed();
    const { command, args, options } = commandLine(["tail", "--workflow", "nap", "--every", "100ms"], { env: env() });
    const child = spawn(command, args, options);
    child.stdin.end();
    await once(createInterface(child.stderr), "line"); // it has said what it costs
    await own.start(napWorkflow.contract, undefined, { id: "n1", delay: "1 day" });
    const [line] = await once(createInterface(child.stdout), "line");
    expect(line).toMatch(/nap@1 n1 {2}sleeping/);
    child.kill("SIGINT");
    expect((await once(child, "close"))[0]).toBe(130);
  });
});
