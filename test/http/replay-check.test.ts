/** A deployment judges runs by its own code, beside other work, and carries nothing out. */
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { replayCheck } from "layover/replay-check";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
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
    expect((await ask(`?cursor=${other.runId}`)).runs).toMatchObject([{ runId: one.runId }]);
    expect(await ask("?cursor=x")).toMatchObject({ status: 400, code: "invalid_cursor" });
  });
});
