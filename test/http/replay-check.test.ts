/** A deployment judges runs by its own code, beside other work, and carries nothing out. */
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { replayCheck } from "layover/replay-check";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
import type { Query } from "../../src/core/ports.ts";
import { readApiKey } from "../../src/http/api-key.ts";
import { pg } from "../../src/postgres/pg.ts";
import { testDatabase } from "../postgres/database.ts";
import { aKey, anApp, authorized, json } from "./an-app.ts";

const path = "/v1/replay-check";
const deployment = { name: "node", id: "b1" };
const reaching = workflow({ name: "reaching", version: 1, input: z.string() });
const plain = workflow({ name: "plain", version: 1 });
const unknown = workflow({ name: "unknown", version: 1 });

/** Opens what a handler awaits that is none of layover's. */
let open = () => {};
let late: unknown;
/** A connection that a module has opened before. */
let opened: Socket | undefined;
/** What a handler does first, by the input of its run. */
const ways: Readonly<Record<string, () => unknown>> = {
  fetch: () => fetch(address()),
  timer: () => setTimeout(() => {}, 1),
  socket: () => connect(Number(new URL(address()).port), "127.0.0.1"),
  opened: () => opened?.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n"),
  websocket: () => new WebSocket(address().replace("http", "ws")),
  late: () =>
    new Promise<void>((resolve) => {
      open = resolve;
    })
      .then(() => fetch(address()))
      .catch((error: unknown) => {
        late = error;
      }),
};
const workflows = [
  reaching.handler(async ({ input, step }) => {
    await ways[input]?.();
    await step.run("it", () => "done");
  }),
  plain.handler(async ({ step }) => {
    await step.run("it", () => fetch(address()).then(() => "done"));
  }),
];

let hits = 0;
const outside = createServer((_, response) => {
  hits += 1;
  response.end("reached");
});
const address = () => `http://127.0.0.1:${Object(outside.address() as AddressInfo).port}/`;
beforeAll(() => new Promise<void>((resolve) => outside.listen(0, "127.0.0.1", resolve)));
afterAll(() => void outside.close());

describe("POST /v1/replay-check", () => {
  const database = testDatabase();
  const judging = (now?: () => number) =>
    anApp(database.query, { replayCheck: replayCheck()({ workflows, deployment, now }) });

  test("refuses the code all that reaches out, says so, and leaves other code alone", async () => {
    const { app, client } = judging();
    opened = connect(Number(new URL(address()).port), "127.0.0.1");
    await once(opened, "connect");
    const names = ["fetch", "timer", "websocket", "socket", "opened"];
    const runs: string[] = [];
    for (const input of names) runs.push((await client.start(reaching, input)).runId);
    const fits = (await client.start(plain)).runId;
    hits = 0;
    const [response, other] = await Promise.all([app.request(path, json({ runs: [...runs, fits] })), fetch(address())]);
    expect(response.status).toBe(200);
    const blocked = (what: string) => ({ outcome: "blocks", reason: `the code calls ${what} outside of a step` });
    expect(await response.json()).toMatchObject({
      verdicts: [
        blocked("fetch"),
        blocked("setTimeout"),
        blocked("WebSocket"),
        blocked("a socket"),
        blocked("a socket"),
        { runId: fits, outcome: "fits" },
      ],
      left: [],
    });
    expect(await other.text()).toBe("reached");
    expect(await (await fetch(address())).text()).toBe("reached");
    opened.destroy();
    expect(hits).toBe(2); // both are those of this test
  });

  test("refuses it also what it does after the verdict", async () => {
    const { app, client } = judging();
    const { runId } = await client.start(reaching, "late");
    hits = 0;
    expect((await app.request(path, json({ runs: [runId] }))).status).toBe(200);
    open();
    await expect.poll(() => late).toEqual(new Error("fetch is refused in a replay"));
    expect(hits).toBe(0);
  });

  test("judges at least one run in a request, and leaves what it has no time for", async () => {
    let time = 0;
    const { app, client } = judging(() => {
      time += 3_000;
      return time;
    });
    const runs: string[] = [];
    for (let count = 0; count < 4; count += 1) runs.push((await client.start(plain)).runId);
    const ask = async (asked: readonly string[]) => await (await app.request(path, json({ runs: asked }))).json();
    expect(await ask(runs)).toEqual({
      deployment,
      verdicts: runs.slice(0, 2).map((runId) => ({ runId, outcome: "fits" })),
      left: runs.slice(2),
    });
  });

  test("says which run is over, and which is of a version that it does not carry", async () => {
    const { app, client } = judging();
    const [over, elsewhere] = [await client.start(plain), await client.start(unknown)];
    await over.terminate();
    const runs = [over.runId, elsewhere.runId];
    expect(await (await app.request(path, json({ runs }))).json()).toEqual({
      deployment,
      verdicts: [
        { runId: over.runId, outcome: "over" },
        { runId: elsewhere.runId, outcome: "elsewhere" },
      ],
      left: [],
    });
  });

  test("works where no row can be written, for a key that counts", async () => {
    const { runId } = await judging().client.start(plain);
    const pool = new Pool({ connectionString: database.url, options: "-c default_transaction_read_only=on" });
    onTestFinished(() => pool.end());
    const { app, client } = anApp(pg(pool), { replayCheck: replayCheck()({ workflows, deployment }) });
    const asked = await app.request(path, json({ runs: [runId] }));
    expect(await asked.json()).toMatchObject({ verdicts: [{ outcome: "fits" }] });
    expect((await app.request(path, { headers: authorized })).status).toBe(200);
    await expect(client.start(plain)).rejects.toMatchObject({ code: "database_unavailable" });
    const revoked = aKey();
    const { keyId = "" } = readApiKey(revoked) ?? {};
    await judging().calls.revokeKey({ keyId });
    const headers = { authorization: `Bearer ${revoked}` };
    expect((await app.request(path, json({ runs: [runId] }, headers))).status).toBe(401);
    expect((await app.request(path, { headers })).status).toBe(401);
  });

  test("wants the scopes read and admin, and one to ten ids", async () => {
    const { app } = judging();
    for (const scope of ["read", "admin"] as const) {
      const headers = { authorization: `Bearer ${aKey(scope)}` };
      expect((await app.request(path, json({ runs: [] }, headers))).status).toBe(403);
      expect((await app.request(path, { headers })).status).toBe(403);
    }
    const id = "01a00000-0000-7000-8000-000000000000";
    for (const runs of [[], Array.from({ length: 11 }, () => id), ["x"], "x", undefined]) {
      const response = await app.request(path, json({ runs }));
      expect([response.status, Object(await response.json()).code]).toEqual([400, "invalid_request"]);
    }
  });

  test("is not there where it is not mounted", async () => {
    const { app } = anApp(database.query);
    expect((await app.request(path, json({ runs: [] }))).status).toBe(404);
  });
});

describe("GET /v1/replay-check", () => {
  const database = testDatabase({ isOwn: true });

  test("lists runs under way with the versions that the code has", async () => {
    const { app, client } = anApp(database.query, { replayCheck: replayCheck()({ workflows, deployment }) });
    const [one, other] = [await client.start(plain), await client.start(unknown)];
    const ask = async (search: string) => {
      const response = await app.request(`${path}${search}`, { headers: authorized });
      return { status: response.status, ...Object(await response.json()) };
    };
    const { status: _, runs, ...rest } = await ask("");
    expect(rest).toEqual({ deployment, versions: { reaching: [1], plain: [1] } });
    expect(runs).toMatchObject([{ runId: other.runId }, { runId: one.runId, workflow: "plain", version: 1 }]);
    expect((await ask("?workflow=plain&version=1")).runs).toMatchObject([{ runId: one.runId }]);
    const late = await client.start(plain, undefined, { delay: "1 day", tags: { region: "eu", size: "s:1%" } });
    expect((await ask("?status=sleeping")).runs).toMatchObject([{ runId: late.runId }]);
    expect((await ask("?workflow=plain&tag=region:eu&tag=size:s:1%25")).runs).toMatchObject([{ runId: late.runId }]);
    expect((await ask("?tag=region:us")).runs).toEqual([]);
    await late.pause();
    expect((await ask("?status=paused")).runs).toMatchObject([{ runId: late.runId }]);
    const { createdAt } = await late.get();
    const at = encodeURIComponent(createdAt.toISOString());
    expect((await ask(`?createdFrom=${at}`)).runs).toMatchObject([{ runId: late.runId }]);
    expect((await ask(`?createdBefore=${at}`)).runs).toMatchObject([{ runId: other.runId }, { runId: one.runId }]);
    expect(await ask("?status=lost")).toMatchObject({ status: 400, code: "invalid_request" });
    await late.terminate();
    expect((await ask("?tag=region:eu")).runs).toEqual([]);
    expect((await ask(`?cursor=${other.runId}`)).runs).toMatchObject([{ runId: one.runId }]);
    expect(await ask("?cursor=x")).toMatchObject({ status: 400, code: "invalid_cursor" });
  });

  test("finds each run once, however many others lie between", async () => {
    const { client, calls } = anApp(database.query);
    const meant: string[] = [];
    for (let count = 0; count < 50; count += 1) {
      const run = await client.start(count % 12 === 0 ? plain : unknown, undefined, { tags: { of: "pages" } });
      if (count % 12 === 0) meant.unshift(run.runId);
    }
    const found: string[] = [];
    const sizes: number[] = [];
    for (let before: string | null | undefined; before !== null; ) {
      const call = { workflow: "plain", tags: { of: "pages" }, limit: 2 };
      const page = await calls.listParked({ ...call, ...(before !== undefined && { before }) });
      found.push(...page.runs.map(({ runId }) => runId));
      sizes.push(page.runs.length);
      before = page.next;
    }
    expect(found).toEqual(meant);
    expect(Math.max(...sizes)).toBe(2);
    expect(sizes.length).toBeLessThan(8);
  });

  test("lists nothing where the database does not know the filter", async () => {
    const send = async (...[text, values]: Parameters<Query>) => {
      const rows = await database.query(text, values);
      return JSON.parse(JSON.stringify(rows).replace('"isFiltered":true,', ""));
    };
    const before = Object.assign(send, { endpoint: database.query.endpoint });
    const { app } = anApp(before, { replayCheck: replayCheck()({ workflows, deployment }) });
    const ask = (search: string) => app.request(`${path}${search}`, { headers: authorized });
    expect((await ask("?workflow=plain&version=1")).status).toBe(200);
    const refused = await ask("?workflow=plain&tag=region:eu");
    expect(await refused.json()).toMatchObject({ code: "not_applicable", hint: expect.stringContaining("migrate") });
  });
});

describe("POST /v1/upgrade-check", () => {
  const database = testDatabase();
  const next = workflow({ name: "plain", version: 2 }).handler(async ({ step }) => {
    await step.run("it", () => "done");
  });
  const odd = workflow({ name: "reaching", version: 2, input: z.string() }).handler(async ({ step }) => {
    await fetch(address());
    await step.run("it", () => "done");
  });

  test("tells which runs fit another version, and moves none", async () => {
    const code = { workflows: [...workflows, next, odd], deployment };
    const { app, client } = anApp(database.query, { replayCheck: replayCheck()(code) });
    const [fits, reaches, over] = [
      await client.start(plain),
      await client.start(reaching, "fetch"),
      await client.start(plain),
    ];
    await over.terminate();
    hits = 0;
    const runs = [fits, reaches, over].map(({ runId }) => runId);
    const ask = async (body: unknown) => {
      const response = await app.request("/v1/upgrade-check", json(body));
      return { status: response.status, ...Object(await response.json()) };
    };
    const { status: _, ...answer } = await ask({ runs, from: 1, to: 2 });
    expect(answer).toEqual({
      deployment,
      verdicts: [
        {
          ...{ runId: fits.runId, outcome: "fits", signature: expect.any(String) },
          ...{ epoch: 0, turn: 1, position: 0, lastMail: 0 },
        },
        { runId: reaches.runId, outcome: "blocks", reason: "the code calls fetch outside of a step" },
        { runId: over.runId, outcome: "over" },
      ],
      left: [],
    });
    expect(hits).toBe(0);
    expect((await fits.get()).version).toBe(1);
    expect((await ask({ runs: runs.slice(0, 1), from: 1, to: 3 })).verdicts).toEqual([
      { runId: fits.runId, outcome: "refused", reason: "this deployment does not have version 3 of plain" },
    ]);
    expect((await ask({ runs: runs.slice(0, 1), from: 2, to: 1 })).verdicts).toMatchObject([{ outcome: "over" }]);
    expect(await ask({ runs: runs.slice(0, 1), to: 2 })).toMatchObject({ status: 400, code: "invalid_request" });
    const lesser = { authorization: `Bearer ${aKey("admin")}` };
    expect((await app.request("/v1/upgrade-check", json({ runs, from: 1, to: 2 }, lesser))).status).toBe(403);
  });
});
