/** How many bytes of bodies are in memory at once, and how long one may take to come. */
import { setImmediate as rest } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Query } from "../../src/core/ports.ts";
import { newRooms } from "../../src/http/room.ts";
import { mountWebhooks } from "../../src/http/webhooks/mount.ts";
import { testDatabase } from "../postgres/database.ts";
import { aSlowBody, aTurnedHost, type SlowBody, slowly } from "./a-slow-body.ts";
import { anApp, authorized } from "./an-app.ts";
import { aShop } from "./webhooks/a-webhook.ts";

const database = testDatabase();

interface Given {
  readonly bodyBytes: number;
  /** Whether its database answers only when it is let. */
  readonly isSlow?: boolean;
}

/** An app with the webhook of a shop, whose requests nobody has signed. */
function anAppFor({ bodyBytes, isSlow = false }: Given) {
  const gate = Promise.withResolvers<void>();
  if (!isSlow) gate.resolve();
  const wrapQuery = (query: Query) =>
    Object.assign(
      async (...call: Parameters<Query>) => {
        await gate.promise;
        return await query(...call);
      },
      { endpoint: query.endpoint },
    );
  const { host, pass } = aTurnedHost();
  const env = { SECRET: `whsec_${btoa("a secret of a sender's own")}` };
  const webhooks = mountWebhooks([aShop(() => [])], { env, tell: () => {} });
  const { app } = anApp(database.query, { rooms: newRooms(host, bodyBytes), webhooks }, { wrapQuery });
  const start = async (init: RequestInit) => await app.request("/v1/workflows/anything/runs", init);
  const post = async (bytes: number, headers: Record<string, string> = {}) => {
    const body = JSON.stringify({ input: "x" }).padEnd(bytes);
    return await start({
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...authorized, ...headers },
    });
  };
  return {
    app,
    post,
    start: (body: SlowBody, headers = authorized) => start(slowly(body, headers)),
    deliver: async (body: SlowBody, headers?: Record<string, string>) =>
      await app.request("/webhooks/shop", slowly(body, headers)),
    letItAnswer: gate.resolve,
    /** Lets time pass, once all have read what was sent. */
    pass: async (ms: number) => {
      await settled();
      pass(ms);
      await settled();
    },
  };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await rest();
}

async function codeOf(answer: Promise<Response>): Promise<unknown> {
  const response = await answer;
  return [response.status, Object(await response.json()).code];
}

describe("the room for bodies", () => {
  it("refuses a body for which there is none with 503, until another one is answered", async () => {
    const { app, post, letItAnswer } = anAppFor({ bodyBytes: 1_000, isSlow: true });
    const first = post(600);
    await settled();
    const refused = await post(401);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await refused.json()).toMatchObject({
      code: "busy",
      detail: "this server has no room for another body: it holds 1000 bytes of them at most",
    });
    expect((await app.request("/health")).status).toBe(200);
    const second = post(400);
    letItAnswer();
    expect([(await first).status, (await second).status]).toEqual([201, 201]);
    expect((await post(401)).status).toBe(201);
  });

  it.each([{}, { "content-length": "900" }])(
    "counts the bytes that have come, of a body with the headers %j",
    async (headers) => {
      const { deliver, post } = anAppFor({ bodyBytes: 1_000 });
      const slow = Array.from({ length: 40 }, aSlowBody);
      for (const body of slow) {
        void deliver(body, headers);
        body.send(1);
      }
      await settled();
      expect((await post(900)).status).toBe(201);
      slow[0]?.send(900);
      await settled();
      expect((await post(100)).status).toBe(503);
    },
  );

  it("refuses a body amid its coming when the room is gone, and keeps none for it", async () => {
    const { start, post } = anAppFor({ bodyBytes: 1_000 });
    const [one, other] = [aSlowBody(), aSlowBody()];
    const [answer, refused] = [start(one), start(other)];
    one.send(500);
    other.send(400);
    await settled();
    one.send(101);
    expect(await codeOf(answer)).toEqual([503, "busy"]);
    expect(one.isCancelled()).toBe(true);
    expect((await post(600)).status).toBe(201);
    other.send(599, '{"input":1}');
    other.end();
    expect((await refused).status).toBe(201);
  });

  it("lets a body that is longer than all of it come alone, and is free after one that fails", async () => {
    const { post, start } = anAppFor({ bodyBytes: 10 });
    expect((await post(600)).status).toBe(201);
    const wrong = aSlowBody();
    wrong.send(600, '{"nonsense":true}');
    wrong.end();
    expect(await codeOf(start(wrong))).toEqual([400, "invalid_request"]);
    expect((await post(600)).status).toBe(201);
  });

  it("is free a minute after a request whose end nobody tells", async () => {
    const { post, pass, letItAnswer } = anAppFor({ bodyBytes: 1_000, isSlow: true });
    const lost = post(900);
    await pass(59_999);
    expect((await post(200)).status).toBe(503);
    await pass(1);
    const next = post(200);
    letItAnswer();
    expect([(await lost).status, (await next).status]).toEqual([201, 201]);
  });
});

describe("a body that does not end", () => {
  it("is given up after ten seconds while nobody knows who sends it, and keeps no room", async () => {
    const { deliver, post, pass } = anAppFor({ bodyBytes: 1_000 });
    const body = aSlowBody();
    const answer = deliver(body);
    body.send(900);
    await pass(9_999);
    body.send(1);
    expect((await post(200)).status).toBe(503);
    await pass(1);
    expect(await codeOf(answer)).toEqual([408, "body_too_slow"]);
    expect(body.isCancelled()).toBe(true);
    expect((await post(1_000)).status).toBe(201);
  });

  it("is given up after a minute where its sender has a key", async () => {
    const { start, pass } = anAppFor({ bodyBytes: 1_000 });
    const [slow, endless] = [aSlowBody(), aSlowBody()];
    const [started, refused] = [start(slow), start(endless)];
    await pass(59_999);
    for (const text of '{"input":"slow"}') slow.send(0, text);
    slow.end();
    expect((await started).status).toBe(201);
    await pass(1);
    expect(await codeOf(refused)).toEqual([408, "body_too_slow"]);
    expect(endless.isCancelled()).toBe(true);
  });
});
