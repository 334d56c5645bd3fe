/** What a sender's delivery does: all of it or nothing, once, whoever sends it again and in whatever order. */

import { createHmac, randomUUID } from "node:crypto";
import { serve as serveOnCloudflare } from "layover/cloudflare";
import { serve as serveByFetch } from "layover/fetch";
import { serve as serveOnLambda } from "layover/lambda";
import { serve as serveOnNode } from "layover/node";
import {
  answer,
  type Decision,
  githubSignature,
  handshake,
  hmac,
  ignore,
  none,
  type SenderAnswer,
  signal,
  signalWithStart,
  standardWebhooks,
  start,
  type Webhook,
  webhook,
} from "layover/webhooks";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { type Query, QueryError } from "../../../src/core/ports.ts";
import { Secrets } from "../../../src/http/secrets.ts";
import { checkWebhooks } from "../../../src/http/webhooks/mount.ts";
import { carryOut, namespace, secret, secrets } from "../../client/a-client.ts";
import { testDatabase } from "../../postgres/database.ts";
import { aKey, anything, authorized, json, order } from "../an-app.ts";
import { anAppBy, anAppWith, aShop, type Env, signed, type WebhookApp } from "./a-webhook.ts";

const database = testDatabase({ perTest: true });

/** Starts an order when it is paid, and tells it when its address has changed. */
const shop = aShop(({ event }) =>
  event.type === "paid"
    ? start(order, { id: event.order, amount: event.amount }, { id: event.order })
    : event.type === "moved"
      ? signal(order, { id: event.order }, "address", { city: "Bonn" })
      : ignore(`${event.type} is not ours`),
);

const done = (delivery: string) => ({ status: 200, body: { outcome: "done", delivery } });

async function runs({ client }: WebhookApp) {
  return (await client.list()).runs.map(({ id, status }) => ({ id, status })).reverse();
}

async function shown(app: WebhookApp, id: string): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await app.request(`/v1/webhooks/shop/deliveries/${id}`);
  return Object(body);
}

describe("a delivery", () => {
  test("starts a run by one statement, and dispatches it", async () => {
    const app = anAppWith(database.query, shop);
    expect(await app.deliver("d1", { type: "paid", order: "o1", amount: 7 })).toEqual(done("d1"));
    expect(app.called()).toEqual(["receive_delivery"]);
    const [run] = (await app.client.list()).runs;
    expect(run).toMatchObject({ workflow: "order", id: "o1", input: { id: "o1", amount: 7 }, status: "queued" });
    expect(app.dispatches).toEqual([{ turns: [{ runId: run?.runId, turn: 1 }], delayMs: 0 }]);
    expect(await shown(app, "d1")).toMatchObject({
      outcome: "done",
      attempts: 1,
      deeds: [{ outcome: "started", runId: run?.runId }],
      event: { type: "paid", order: "o1", amount: 7 },
      headers: { "webhook-id": "d1" },
    });
  });

  test("does nothing when it comes again", async () => {
    const app = anAppWith(database.query, shop);
    await app.deliver("d1", { type: "paid", order: "o1" });
    const again = { status: 200, body: { outcome: "duplicate", delivery: "d1" } };
    // A sender's id names one delivery, whatever came the second time.
    expect(await app.deliver("d1", { type: "paid", order: "o2" })).toEqual(again);
    expect(await runs(app)).toEqual([{ id: "o1", status: "queued" }]);
  });

  test("a hundred times at once is done once", async () => {
    const app = anAppWith(database.query, shop);
    const event = { type: "paid", order: "o1" };
    const answers = await Promise.all(Array.from({ length: 100 }, () => app.deliver("d1", event)));
    const outcomes = answers.map(({ body }) => Object(body).outcome);
    expect([outcomes.filter((each) => each === "done").length, new Set(outcomes)]).toEqual([
      1,
      new Set(["done", "duplicate"]),
    ]);
    expect(await runs(app)).toHaveLength(1);
    expect(await shown(app, "d1")).toMatchObject({ attempts: 1 });
  });

  test("that is not ours sends no SQL, and is told to the operator", async () => {
    const app = anAppWith(database.query, shop);
    expect(await app.deliver("d1", { type: "viewed", order: "o1" })).toEqual({
      status: 200,
      body: { outcome: "ignored" },
    });
    expect(app.statements).toEqual([]);
    expect(app.events).toEqual([
      { kind: "delivery_ignored", webhook: "shop", delivery: "d1", reason: "viewed is not ours" },
    ]);
  });

  test("may do several things, all of them or none", async () => {
    const several = aShop(({ event }) => [
      start(anything, event.order, { id: `${event.order}-1` }),
      signalWithStart(
        order,
        "address",
        { city: "Bonn" },
        { id: event.order, input: { id: event.order, amount: event.amount ?? 1 } },
      ),
      start(anything, event.order, { id: `${event.order}-2` }),
    ]);
    const app = anAppWith(database.query, several);
    expect(await app.deliver("d1", { type: "paid", order: "o1" })).toEqual(done("d1"));
    expect((await runs(app)).map(({ id }) => id).sort()).toEqual(["o1", "o1-1", "o1-2"]);
    expect((await shown(app, "d1"))["deeds"]).toMatchObject([
      { outcome: "started" },
      { outcome: "started", signal: "sent" },
      { outcome: "started" },
    ]);
    await app.client.start(anything, "another input", { id: "o2-2" });
    expect(await app.deliver("d2", { type: "paid", order: "o2" })).toMatchObject({ body: { outcome: "refused" } });
    expect((await runs(app)).map(({ id }) => id).sort()).toEqual(["o1", "o1-1", "o1-2", "o2-2"]);
    expect(await shown(app, "d2")).toMatchObject({
      outcome: "refused",
      reason: 'the id "o2-2" of workflow anything is taken by a run with another input',
      deeds: [],
    });
  });

  test("may be answered in a way of its own", async () => {
    const polite = aShop(({ event }) => [
      start(anything, event, { id: event.order }),
      answer({ status: 202, body: { text: "We are on it." } }),
    ]);
    const app = anAppWith(database.query, polite);
    expect(await app.deliver("d1", { type: "paid", order: "o1" })).toEqual({
      status: 202,
      body: { text: "We are on it." },
    });
    expect(await app.deliver("d1", { type: "paid", order: "o1" })).toEqual({
      status: 202,
      body: { text: "We are on it." },
    });
    expect(await runs(app)).toHaveLength(1);
  });

  test("names what it starts where the code does not, so that it does so once for ever", async () => {
    const nameless = aShop(({ event }) => [
      start(anything, event),
      signal(order, { id: "o1" }, "address", { city: "Bonn" }),
    ]);
    const app = anAppWith(database.query, nameless);
    const { runId } = await app.client.start(order, { id: "o1" }, { id: "o1" });
    await app.deliver("d1", { type: "paid", order: "o1" });
    expect(await runs(app)).toMatchObject([{ id: "o1" }, { id: "shop:d1:0" }]);
    await database.pool.query("delete from layover.delivery");
    expect(await app.deliver("d1", { type: "paid", order: "o1" })).toEqual(done("d1"));
    expect(await runs(app)).toHaveLength(2);
    const { rows } = await database.pool.query("select count(*)::int from layover.signal where run_id = $1", [runId]);
    expect(rows).toEqual([{ count: 1 }]);
  });
});

describe("a delivery that comes again", () => {
  test("dispatches the runs that it started and that nobody has claimed, since its first answer may have been lost", async () => {
    const app = anAppWith(database.query, shop);
    await app.deliver("d1", { type: "paid", order: "o1" });
    const [first] = app.dispatches.splice(0);
    expect(await app.deliver("d1", { type: "paid", order: "o1" })).toMatchObject({ body: { outcome: "duplicate" } });
    expect(app.dispatches.splice(0)).toEqual([first]);
    const [run] = (await app.client.list()).runs;
    await carryOut(app.calls, { runId: run?.runId ?? "", workflow: "order" }, { completed: null });
    await app.deliver("d1", { type: "paid", order: "o1" });
    expect(app.dispatches).toEqual([]);
  });

  test("after it was done stays done, though the code now throws or refuses it, also when it is played again", async () => {
    let what: "good" | "throws" | "wrong" = "good";
    const changed = aShop(({ event }) => {
      if (what === "throws") throw new Error("this code was changed");
      return start(order, { id: event.order, amount: what === "wrong" ? Number.NaN : 1 }, { id: event.order });
    });
    const app = anAppWith(database.query, changed);
    await app.deliver("d1", { type: "paid", order: "o1" });
    for (what of ["throws", "wrong"] as const) {
      const again = await app.deliver("d1", { type: "paid", order: "o1" });
      expect(again).toEqual({ status: 200, body: { outcome: "duplicate", delivery: "d1" } });
      expect(app.events).toEqual([]);
      await app.request("/v1/webhooks/shop/deliveries/d1/replay", json({ by: "ada" }));
      expect(app.events.splice(0)).toMatchObject([{ kind: "delivery_refused", delivery: "d1" }]);
      expect(await shown(app, "d1")).toMatchObject({ outcome: "done", deeds: [{ outcome: "started" }] });
    }
    expect((await shown(app, "d1"))["replays"]).toHaveLength(2);
  });
});

describe("a text that Postgres cannot store", () => {
  test("in an event is stored as it was sent, shown and carried out", async () => {
    const app = anAppWith(
      database.query,
      aShop(({ event }) => start(anything, event)),
    );
    const event = { type: "a\u0000b", order: "\ud800" };
    expect(await app.deliver("d1", event)).toEqual(done("d1"));
    expect(await shown(app, "d1")).toMatchObject({ event });
    expect((await app.client.list()).runs).toMatchObject([{ input: event }]);
    expect((await app.request("/v1/webhooks/shop/deliveries/d1/replay", json({}))).body).toEqual({ outcome: "done" });
  });

  test.each<[string, "refused" | "failed", (text: string) => Decision]>([
    ["an id", "refused", (text) => start(anything, 1, { id: text })],
    ["a dedupeId", "refused", (text) => signal(order, { id: "o1" }, "address", { city: "Bonn" }, { dedupeId: text })],
    ["a tag", "refused", (text) => start(anything, 1, { tags: { text } })],
    [
      "the message of a mistake",
      "failed",
      (text) => {
        throw new Error(text.repeat(5_000));
      },
    ],
  ])("in %s is %s, with a reason that is stored", async (_, outcome, act) => {
    for (const text of ["a\u0000b", "a\ud800b"]) {
      const app = anAppWith(
        database.query,
        aShop(() => act(text)),
      );
      const { status } = await app.deliver("d1", { type: "", order: "" });
      expect(status).toBe(outcome === "failed" ? 500 : 200);
      expect(await shown(app, "d1")).toMatchObject({ outcome, reason: expect.stringContaining("a") });
    }
  });
});

describe("what is kept of a delivery", () => {
  test("is no header that holds a key or a signature", async () => {
    const seen: string[] = [];
    const curious = aShop(({ event, headers }) => {
      seen.push(...headers.keys());
      return start(anything, event);
    });
    const app = anAppWith(database.query, curious);
    const { headers, ...init } = signed("d1", JSON.stringify({ type: "paid", order: "o1" }));
    const secret = {
      authorization: "Basic x",
      cookie: "session=x",
      "proxy-authorization": "x",
      "stripe-signature": "x",
      "x-amz-security-token": "x",
      "x-api-key": "x",
      "x-hub-signature": "x",
      "x-shop-hmac-sha256": "x",
      "x-slack-signature": "x",
    };
    const sent = { ...init, headers: { ...Object(headers), ...secret, "x-request-id": "r1" } };
    expect((await app.request("/webhooks/shop", sent)).status).toBe(200);
    const kept = Object.keys(Object((await shown(app, "d1"))["headers"]));
    expect(kept).toEqual(["content-length", "content-type", "webhook-id", "webhook-timestamp", "x-request-id"]);
    expect(seen.sort()).toEqual(kept);
  });

  test("is not the header of a signature of one's own, whatever its name", async () => {
    const own = webhook<Env>({
      name: "shop",
      verify: hmac({ header: "X-Proof", secret: () => "bare" }),
      on: ({ event }) => start(anything, event),
    });
    const app = anAppWith(database.query, own);
    const proof = createHmac("sha256", "bare").update("{}").digest("hex");
    await app.request("/webhooks/shop", { method: "POST", body: "{}", headers: { "x-proof": proof, "x-other": "1" } });
    const { rows } = await database.pool.query("select headers from layover.delivery");
    expect(rows[0]?.headers).toContain("x-other");
    expect(rows[0]?.headers).not.toContain("x-proof");
  });
});

test("an `on` that answers a promise is a mistake of the code, and its rejection ends no process", async () => {
  const rejections: unknown[] = [];
  const listen = (reason: unknown) => void rejections.push(reason);
  process.on("unhandledRejection", listen);
  onTestFinished(() => void process.off("unhandledRejection", listen));
  const later = () => Promise.reject(new Error("no such item"));
  for (const on of [later, () => [start(anything, 1), later(), later()]]) {
    const app = anAppWith(database.query, aShop(Object(on)));
    expect((await app.deliver("d1", { type: "paid" })).body).toMatchObject({ code: "webhook_failed" });
    expect(await shown(app, "d1")).toMatchObject({ outcome: "failed", reason: expect.stringContaining("no promise") });
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(rejections).toEqual([]);
});

describe("a sender that asks first by GET", () => {
  const asking = webhook<Env>({
    name: "shop",
    verify: handshake(
      standardWebhooks<Env>(({ SECRET }) => SECRET),
      ({ url }) => {
        const challenge = new URL(url).searchParams.get("challenge");
        return challenge === null ? undefined : { body: challenge };
      },
    ),
    on: () => start(anything, 1),
  });

  test("gets its answer without SQL, and nothing else comes of a GET", async () => {
    const app = anAppWith(database.query, asking);
    expect(await app.request("/webhooks/shop?challenge=abc", {})).toEqual({ status: 200, body: "abc" });
    expect((await app.request("/webhooks/shop", {})).status).toBe(401);
    const { headers } = signed("d1", "");
    expect((await app.request("/webhooks/shop", Object({ headers }))).status).toBe(401);
    expect(app.statements).toEqual([]);
    expect(await app.deliver("d1", {})).toEqual(done("d1"));
  });
});

describe("a sender that asks first, and wants something back in a header", () => {
  const asking = (answered: SenderAnswer | undefined) =>
    webhook<Env>({
      name: "asana",
      verify: handshake(hmac<Env>({ header: "x-hook-signature", secret: () => "s" }), ({ headers }) => {
        const secret = headers.get("x-hook-secret");
        return (
          answered ?? (secret === null ? undefined : { status: 204, headers: { "x-hook-secret": secret }, body: "" })
        );
      }),
      on: () => ignore("not ours"),
    });
  const asked = { method: "POST", body: "", headers: { "x-hook-secret": "b537207f20cbfa02357cf448134da559" } };

  test("gets it, with a status that has no body", async () => {
    const app = anAppWith(database.query, asking(undefined));
    const response = await app.app.request("/webhooks/asana", asked);
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(response.headers.get("x-hook-secret")).toBe("b537207f20cbfa02357cf448134da559");
    expect(response.headers.get("content-type")).toBeNull();
    expect(app.statements).toEqual([]);
  });

  test.each<[string, SenderAnswer]>([
    ["no name of a header", { headers: { "x hook": "1" } }],
    ["not for it to say", { headers: { "Content-Length": "7" } }],
    ["without line breaks", { headers: { "x-hook": "a\nb" } }],
    ["up to 4096 characters", { headers: { "x-hook": "x".repeat(4_097) } }],
    ["Up to 20", { headers: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, ""])) }],
    ["no content type", { type: "text\n" }],
    ["the status 99", { status: 99 }],
    ["no JSON: Do not know how to serialize a BigInt", { body: { total: 7n } }],
    ["no JSON: JSON leaves it out", { body: () => "ok" }],
  ])("cannot be given one that is wrong, and the log says why: %s", async (why, answered) => {
    const app = anAppWith(database.query, asking(answered));
    expect((await app.request("/webhooks/asana", asked)).body).toMatchObject({ status: 500, code: "webhook_failed" });
    expect(app.errors).toMatchObject([{ cause: { message: expect.stringContaining(why) } }]);
  });

  test("is told by `on`, once all is done; an answer that is wrong is a mistake of the code, and nothing is done", async () => {
    const given: SenderAnswer = { headers: { "x-done": "yes" }, body: { ok: true } };
    let answered = given;
    const app = anAppWith(
      database.query,
      aShop(({ event }) => [start(anything, 1, { id: event.order }), answer(answered)]),
    );
    const response = await app.app.request("/webhooks/shop", signed("d1", '{"order":"o1"}'));
    expect([response.headers.get("x-done"), await response.json()]).toEqual(["yes", { ok: true }]);
    answered = { headers: { "x-done": "\n" } };
    expect((await app.deliver("d2", { order: "o2" })).body).toMatchObject({ code: "webhook_failed" });
    expect(await shown(app, "d2")).toMatchObject({ outcome: "failed", reason: expect.stringContaining("x-done") });
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    answered = { body: cycle };
    expect((await app.deliver("d3", { order: "o3" })).body).toMatchObject({ code: "webhook_failed" });
    expect(app.events.at(-1)).toMatchObject({
      kind: "delivery_refused",
      outcome: "failed",
      reason: expect.stringContaining("is no JSON"),
    });
    expect(await runs(app)).toHaveLength(1);
  });
});

describe("a request that its sender has not signed", () => {
  test.each<[string, () => RequestInit]>([
    ["with another secret", () => ({ ...signed("d1", "{}"), body: "{ }" })],
    ["an hour ago", () => signed("d1", "{}", Math.floor(Date.now() / 1_000) - 3_600)],
    ["at all", () => ({ method: "POST", body: "{}" })],
  ])("%s is refused without SQL, and its sender learns nothing of why", async (_, init) => {
    const app = anAppWith(database.query, shop);
    const { status, body } = await app.request("/webhooks/shop", init());
    expect([status, Object(body).code]).toEqual([401, "unauthorized"]);
    expect(app.statements).toEqual([]);
    expect(app.events).toMatchObject([{ kind: "webhook_unverified", webhook: "shop" }]);
    expect(JSON.stringify(body)).not.toContain(Object(app.events[0]).reason);
  });

  test("or is ten megabytes long, is refused without SQL", async () => {
    const app = anAppWith(database.query, shop);
    const { status } = await app.request("/webhooks/shop", signed("d1", JSON.stringify("x".repeat(10_000_000))));
    expect(status).toBe(413);
    expect(app.statements).toEqual([]);
  });

  test("or goes to a webhook that is not there, finds nothing", async () => {
    const app = anAppWith(database.query, shop);
    expect((await app.request("/webhooks/other", signed("d1", "{}"))).status).toBe(404);
    expect((await app.request("/webhooks/shop")).status).toBe(405);
    expect(app.statements).toEqual([]);
  });
});

describe("a delivery that is not carried out", () => {
  test("since the code threw is told to its sender as an error, and its next try is looked at anew", async () => {
    let isBroken = true;
    const broken = aShop(({ event }) => {
      if (isBroken) throw new Error("no such customer");
      return start(anything, event, { id: event.order });
    });
    const app = anAppWith(database.query, broken);
    const failed = await app.deliver("d1", { type: "paid", order: "o1" });
    expect([failed.status, Object(failed.body).code]).toEqual([500, "webhook_failed"]);
    expect(await shown(app, "d1")).toMatchObject({ outcome: "failed", reason: "Error: no such customer", attempts: 1 });
    expect(app.events).toMatchObject([{ kind: "delivery_refused", delivery: "d1", outcome: "failed" }]);
    isBroken = false;
    expect(await app.deliver("d1", { type: "paid", order: "o1" })).toEqual(done("d1"));
    expect(await shown(app, "d1")).toMatchObject({ outcome: "done", attempts: 2 });
  });

  test("since it answered no decision says so", async () => {
    const wrong = aShop((() => "start it") as unknown as Parameters<typeof aShop>[0]);
    const app = anAppWith(database.query, wrong);
    expect((await app.deliver("d1", { type: "paid", order: "o1" })).status).toBe(500);
    expect((await shown(app, "d1"))["reason"]).toContain("`on` of the webhook shop answered string");
  });

  test("since a contract refuses its values is answered well, shown, and played again after the fix", async () => {
    let amount: unknown = -1;
    const strict =
      order.name === "order" ? aShop(({ event }) => start(order, { id: event.order, amount } as { id: string })) : shop;
    const app = anAppWith(database.query, strict);
    amount = "many";
    expect(await app.deliver("d1", { type: "paid", order: "o1" })).toEqual({
      status: 200,
      body: { outcome: "refused", delivery: "d1" },
    });
    expect((await app.request("/v1/deliveries?open=true")).body).toMatchObject({
      deliveries: [{ id: "d1", outcome: "refused", reason: expect.stringContaining("amount") }],
    });
    expect(await runs(app)).toEqual([]);
    amount = 5;
    const replayed = await app.request("/v1/webhooks/shop/deliveries/d1/replay", json({ by: "ada", reason: "fixed" }));
    expect(replayed).toEqual({ status: 200, body: { outcome: "done" } });
    expect(await shown(app, "d1")).toMatchObject({ outcome: "done", replays: [{ by: "ada", reason: "fixed" }] });
    expect(await runs(app)).toHaveLength(1);
    expect((await app.request("/v1/deliveries?open=true")).body).toEqual({ deliveries: [] });
  });

  test("since its event is no event of the schema is refused, with a status of the user's choice", async () => {
    const checked = aShop(({ event }) => start(anything, event.order, { id: event.order }), {
      event: z.object({ type: z.literal("paid"), order: z.string() }),
      respondRefused: 422,
    });
    const app = anAppWith(database.query, checked);
    expect(await app.deliver("d1", { type: "odd" })).toMatchObject({ status: 422, body: { outcome: "refused" } });
    expect((await shown(app, "d1"))["reason"]).toContain("the event of webhook");
    expect(await app.deliver("d2", { type: "paid", order: "o2" })).toEqual(done("d2"));
  });

  test("since its run is over is refused, and is done once the run is there again", async () => {
    const app = anAppWith(database.query, shop);
    const run = await app.client.start(order, { id: "o1" }, { id: "o1" });
    await carryOut(app.calls, { ...run, workflow: "order" }, { completed: null });
    expect(await app.deliver("d1", { type: "moved", order: "o1" })).toMatchObject({ body: { outcome: "refused" } });
    expect((await shown(app, "d1"))["reason"]).toContain('takes no signal "address": it is over');
  });

  test("while the database cannot be reached is an error to its sender", async () => {
    const query = Object.assign(() => Promise.reject(new Error("down")), { endpoint: "e" });
    const app = anAppWith(query as unknown as typeof database.query, shop);
    expect((await app.deliver("d1", { type: "paid", order: "o1" })).status).toBeGreaterThanOrEqual(500);
  });

  test("since the database could not be reached for a moment is not refused for that: its next try is done", async () => {
    for (const failing of [1, 2]) {
      let count = 0;
      const query: Query = Object.assign(
        async (...statement: Parameters<Query>) => {
          if (++count === failing) throw new QueryError("the disk is full", { sqlState: "53100", isRolledBack: true });
          return await database.query(...statement);
        },
        { endpoint: database.query.endpoint },
      );
      const app = anAppWith(query, shop);
      const id = `d${failing}`;
      const failed = await app.deliver(id, { type: "paid", order: id });
      expect([failed.status, Object(failed.body).code]).toEqual([503, "database_unavailable"]);
      expect((await app.request("/v1/deliveries")).body).toMatchObject({
        deliveries: failing === 1 ? [] : [{ id: "d1" }],
      });
      expect(await app.deliver(id, { type: "paid", order: id })).toEqual(done(id));
    }
  });
});

describe("a signal that comes before its run", () => {
  test("is kept, and the first claim of the run takes it", async () => {
    const app = anAppWith(database.query, shop);
    expect(await app.deliver("d1", { type: "moved", order: "o1" })).toEqual(done("d1"));
    expect(await shown(app, "d1")).toMatchObject({ outcome: "waiting", deeds: [{ signal: "kept" }] });
    await app.client.start(order, { id: "other" }, { id: "other" });
    await app.deliver("d2", { type: "paid", order: "o1" });
    const [run] = (await app.client.list({ workflow: "order" })).runs;
    const claimed = await carryOut(app.calls, { runId: run?.runId ?? "", workflow: "order" }, { completed: null });
    expect(claimed.signals).toMatchObject([{ name: "address", payload: '1{"city":"Bonn"}', isParsed: true }]);
    expect(await shown(app, "d1")).toMatchObject({ outcome: "done" });
    expect(await app.deliver("d1", { type: "moved", order: "o1" })).toMatchObject({ body: { outcome: "duplicate" } });
  });

  test("is armed like a run, and for its end", async () => {
    const app = anAppWith(database.query, shop);
    await app.deliver("d1", { type: "moved", order: "o1" });
    const { rows } = await database.pool.query(
      "select layover.to_ms(due_at)::float8 as due, layover.to_ms(expires_at)::float8 as expires from layover.kept_signal",
    );
    expect(app.armed).toEqual(expect.arrayContaining([rows[0]?.due, rows[0]?.expires]));
    const hours = (rows[0]?.expires - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(95.9);
    expect(hours).toBeLessThanOrEqual(96);
  });

  test("is kept within bounds: a hundred for a run", async () => {
    const app = anAppWith(database.query, shop);
    for (let count = 0; count < 100; count += 1) await app.deliver(`d${count}`, { type: "moved", order: "o1" });
    expect(await app.deliver("more", { type: "moved", order: "o1" })).toMatchObject({ body: { outcome: "refused" } });
    expect((await shown(app, "more"))["reason"]).toContain(
      '100 signals of 1600 bytes wait for the run "o1" of workflow order',
    );
    expect(await app.deliver("other", { type: "moved", order: "o2" })).toEqual(done("other"));
  });

  test("is kept within bounds: as many bytes as fit into a run's mail", async () => {
    const large = aShop(({ event }) => signal(anything, { id: event.order }, "any", "x".repeat(1_000_000)));
    const app = anAppWith(database.query, large);
    const outcomes = [];
    for (let count = 0; count < 17; count += 1)
      outcomes.push(Object((await app.deliver(`d${count}`, { type: "", order: "o1" })).body).outcome);
    expect(outcomes).toEqual([...Array(16).fill("done"), "refused"]);
  });

  const kept = async () => (await database.pool.query("select delivery from layover.kept_signal order by number")).rows;
  const makeDue = (what = "kept_at") =>
    database.pool.query(
      `update layover.kept_signal set ${what} = now() - interval '1 second', due_at = now() - interval '1 second'`,
    );

  test("stays kept if the claim that took it comes too late, and goes to the next one", async () => {
    const app = anAppWith(database.query, shop);
    await app.deliver("d1", { type: "moved", order: "o1" });
    const { runId } = await app.client.start(order, { id: "o1" }, { id: "o1" });
    const late = {
      namespace,
      turns: [{ runId, turn: 1, token: randomUUID() }],
      versions: { order: [1] },
      leaseMs: 60_000,
      environment: "test",
      endpoint: database.query.endpoint,
      notAfter: 1,
    };
    await expect(database.query("select layover.claim_turns($1)", [JSON.stringify(late)])).rejects.toMatchObject({
      sqlState: "LO002",
    });
    expect(await kept()).toEqual([{ delivery: "d1" }]);
    const claimed = await carryOut(app.calls, { runId, workflow: "order" }, { completed: null });
    expect(claimed.signals).toMatchObject([{ name: "address" }]);
  });

  test("is not taken by a claim that comes late, which would not wake the run", async () => {
    const app = anAppWith(database.query, shop);
    const { runId } = await app.client.start(order, { id: "o1" }, { id: "o1" });
    const wait = { kind: "signal", path: "address", signal: "address" } as const;
    await carryOut(app.calls, { runId, workflow: "order" }, { waitsFor: [wait] });
    // Its delivery looked for the run before it was started, and was committed after it was claimed.
    await app.deliver("d1", { type: "moved", order: "o2" });
    await database.pool.query("update layover.kept_signal set user_id = 'o1'");
    await expect(carryOut(app.calls, { runId, workflow: "order" }, { completed: null })).rejects.toThrow("stale");
    await makeDue();
    expect(await app.calls.sendKeptSignals({ limit: 500 })).toMatchObject({ turns: [{ runId, turn: 2 }] });
  });

  test("is refused if the mail of its run is full when the scheduler looks, and other runs get theirs", async () => {
    const app = anAppWith(database.query, shop);
    await app.deliver("d1", { type: "moved", order: "o1" });
    await app.deliver("d2", { type: "moved", order: "o2" });
    const { runId } = await app.client.start(order, { id: "o1" }, { id: "o1" });
    await app.client.start(order, { id: "o2" }, { id: "o2" });
    await database.pool.query(
      "insert into layover.signal (run_id, id, name, payload, is_parsed, received_at) select $1, gen_random_uuid(), 'address', '0null', true, now() from generate_series(1, 10000)",
      [runId],
    );
    await makeDue();
    const { left, isMore } = await app.calls.sendKeptSignals({ limit: 500 });
    expect({ left, isMore }).toMatchObject({
      left: [{ delivery: "d1", outcome: "refused", reason: expect.stringContaining("may keep 10000") }],
      isMore: false,
    });
    expect(await shown(app, "d1")).toMatchObject({ outcome: "refused" });
    expect(await shown(app, "d2")).toMatchObject({ outcome: "done" });
    expect(await kept()).toEqual([]);
  });

  test("is sent though its time is over, if its run is there: on whichever page the run is", async () => {
    const app = anAppWith(database.query, shop);
    for (const id of ["o1", "o2", "o3"]) await app.deliver(id, { type: "moved", order: id });
    for (const id of ["o1", "o2"]) await app.client.start(order, { id }, { id });
    await makeDue("expires_at");
    const left: string[] = [];
    for (let isMore = true; isMore; ) {
      const answer = await app.calls.sendKeptSignals({ limit: 1 });
      left.push(...answer.left.map(({ delivery, outcome }) => `${delivery} ${outcome}`));
      isMore = answer.isMore;
    }
    expect(left).toEqual(["o3 expired"]);
    expect((await database.pool.query("select 1 from layover.signal")).rowCount).toBe(2);
  });

  test("with a start is not kept for a run that the very same start had begun, and that was deleted", async () => {
    const app = anAppWith(database.query, shop);
    const runId = "01900000-0000-7000-8000-000000000001";
    const deed = {
      runId,
      workflow: "order",
      version: 1,
      id: "o1",
      encodedInput: "1{}",
      signalId: randomUUID(),
      name: "address",
      encodedPayload: "1{}",
    };
    const call = { webhook: "shop", delivery: "d1", event: "1", deeds: [deed] };
    expect(await app.calls.receiveDelivery(call)).toMatchObject({ deeds: [{ outcome: "started", signal: "sent" }] });
    await app.client.run(order, runId).terminate();
    await app.client.run(order, runId).delete();
    await database.pool.query("delete from layover.delivery");
    expect(await app.calls.receiveDelivery(call)).toMatchObject({
      outcome: "done",
      deeds: [{ runId, outcome: "deleted" }],
      turns: [],
    });
    expect(await kept()).toEqual([]);
    expect(await runs(app)).toEqual([]);
  });
});

describe("a sender whose ids are not signed", () => {
  const github = (options = {}) =>
    webhook<Env>({
      name: "github",
      verify: githubSignature(() => "hook"),
      on: ({ event }) => start(anything, event),
      ...options,
    });
  const sent = (guid: string, body: string): RequestInit => ({
    method: "POST",
    body,
    headers: {
      "x-hub-signature-256": `sha256=${createHmac("sha256", "hook").update(body).digest("hex")}`,
      "x-github-event": "push",
      "x-github-delivery": guid,
    },
  });

  test("cannot be made to deliver one body twice under another id", async () => {
    const app = anAppWith(database.query, github());
    const outcomes = [];
    for (const init of [sent("1", '{"n":1}'), sent("2", '{"n":1}'), sent("3", '{"n":2}')])
      outcomes.push(Object((await app.request("/webhooks/github", init)).body).outcome);
    expect(outcomes).toEqual(["done", "duplicate", "done"]);
    expect(await runs(app)).toHaveLength(2);
  });

  test("cannot do so either while the root secret is replaced", async () => {
    const replaced = new Secrets(["bX7t2QvLr9KpZ4wNcYf8JhEa3UsGd6MoT1iRxB5yC0k=", secret]);
    const outcomes = [];
    for (const [by, guid] of [
      [secrets, "1"],
      [replaced, "2"],
      [replaced, "3"],
    ] as const) {
      const app = anAppBy(by, database.query, github());
      outcomes.push(Object((await app.request("/webhooks/github", sent(guid, '{"n":1}'))).body).outcome);
      expect(app.called()).toEqual(["receive_delivery"]);
    }
    expect(outcomes).toEqual(["done", "duplicate", "duplicate"]);
  });

  test("may send the same body again where the user says so", async () => {
    const app = anAppWith(database.query, github({ sameBody: "allow" }));
    for (const guid of ["1", "2"]) await app.request("/webhooks/github", sent(guid, '{"n":1}'));
    expect(await runs(app)).toHaveLength(2);
  });

  const proof = (body: string) => createHmac("sha256", "bare").update(body).digest("hex");

  test("and stand in a header that the user has named is known by its bodies as well, for 96 hours", async () => {
    for (const [options, later] of [
      [{}, "duplicate"],
      [{ sameBody: "allow" }, "done"],
    ] as const) {
      await database.pool.query("delete from layover.delivery");
      const verify = hmac({ header: "x-mac", secret: () => "bare", delivery: "x-id" });
      const app = anAppWith(
        database.query,
        webhook<Env>({ name: "bare", verify, on: () => start(anything, 1), ...options }),
      );
      const outcomeOf = async (id: string) => {
        const headers = { "x-mac": proof("{}"), "x-id": id };
        return Object((await app.request("/webhooks/bare", { method: "POST", body: "{}", headers })).body).outcome;
      };
      expect(await outcomeOf("1")).toBe("done");
      await database.pool.query("update layover.delivery set received_at = received_at - interval '2 days'");
      expect(await outcomeOf("2")).toBe(later);
      await database.pool.query("update layover.delivery set received_at = received_at - interval '97 hours'");
      expect(await outcomeOf("3")).toBe("done");
    }
  });

  test("and has no ids at all cannot be told that the same body is another delivery: each try would be done", () => {
    const on = () => ignore("not ours");
    for (const verify of [hmac({ header: "x-mac", secret: () => "bare" }), none({ reason: "only our network" })])
      expect(() => webhook({ name: "bare", verify, sameBody: "allow", on })).toThrow("its deliveries have no ids");
  });

  test("and has no ids at all is known by its bodies, for ten minutes", async () => {
    const bare = webhook<Env>({
      name: "bare",
      verify: hmac({ header: "x-mac", secret: () => "bare" }),
      on: ({ event }) => start(anything, event),
    });
    const app = anAppWith(database.query, bare);
    const init = {
      method: "POST",
      body: "{}",
      headers: { "x-mac": proof("{}") },
    };
    const outcomeOf = async () => Object((await app.request("/webhooks/bare", init)).body).outcome;
    expect([await outcomeOf(), await outcomeOf()]).toEqual(["done", "duplicate"]);
    await database.pool.query("update layover.delivery set received_at = received_at - interval '11 minutes'");
    expect(await outcomeOf()).toBe("done");
    expect(await runs(app)).toHaveLength(2);
  });
});

describe("deliveries", () => {
  test("are listed newest first, a page at a time, of one webhook or of all", async () => {
    const app = anAppWith(database.query, shop);
    for (const id of ["d1", "d2", "d3"]) await app.deliver(id, { type: "paid", order: id });
    const ids = async (query: string) => {
      const { deliveries, cursor } = Object((await app.request(`/v1/deliveries?${query}`)).body);
      return { ids: deliveries.map(({ id }: { id: string }) => id), cursor };
    };
    const first = await ids("limit=2");
    expect(first.ids).toEqual(["d3", "d2"]);
    expect(await ids(`limit=2&cursor=${first.cursor}`)).toEqual({ ids: ["d1"], cursor: undefined });
    expect((await ids("webhook=shop")).ids).toHaveLength(3);
    expect((await ids("webhook=other")).ids).toEqual([]);
    expect((await app.request("/v1/deliveries?cursor=x")).body).toMatchObject({ code: "invalid_cursor" });
  });

  test("are shown to those who may read, and played again by admins", async () => {
    const app = anAppWith(database.query, shop);
    await app.deliver("d1", { type: "paid", order: "o1" });
    const reader = { authorization: `Bearer ${aKey("read")}` };
    const path = "/v1/webhooks/shop/deliveries/d1";
    expect((await app.request(path, { headers: reader })).status).toBe(200);
    expect((await app.request(path, {})).status).toBe(401);
    expect((await app.request(`${path}/replay`, json({}, reader))).status).toBe(403);
    expect((await app.request(`${path}/replay`, json({}))).body).toEqual({ outcome: "done" });
    expect(await runs(app)).toHaveLength(1);
    expect((await app.request("/v1/webhooks/shop/deliveries/d9", { headers: authorized })).body).toMatchObject({
      code: "unknown_delivery",
    });
  });

  test("are deleted after a month, and their events after a week", async () => {
    const app = anAppWith(database.query, shop);
    for (const id of ["d1", "d2"]) await app.deliver(id, { type: "paid", order: id });
    const age = (id: string, days: number) =>
      database.pool.query("update layover.delivery set received_at = now() - $2 * interval '1 day' where id = $1", [
        id,
        days,
      ]);
    await age("d1", 31);
    await age("d2", 8);
    await app.calls.pruneRuns({ keepMs: 1e12, keepFailedMs: 1e12, limit: 10 });
    expect((await app.request("/v1/deliveries")).body).toMatchObject({ deliveries: [{ id: "d2" }] });
    expect(await shown(app, "d2")).not.toHaveProperty("event");
    const { body } = await app.request("/v1/webhooks/shop/deliveries/d2/replay", json({}));
    expect(body).toMatchObject({ code: "not_applicable" });
  });
});

describe("a webhook that cannot be mounted is told when its server is made, not at the first request", () => {
  const asking = webhook<Env>({
    name: "asking",
    verify: standardWebhooks<Env>(({ SECRET }) => SECRET),
    respond: "before",
    on: () => ignore(""),
  });
  const noQueue = "this host has no queue";

  test.each<[string, readonly Webhook<Env>[], string]>([
    ["two of one name", [shop, shop], "is that of two webhooks"],
    ["one that answers before, without a queue", [asking], `the webhook asking answers before: ${noQueue}`],
    ["one that is none", [Object({ name: "odd" })], '"odd" is no webhook'],
  ])("%s", (_, webhooks, message) => {
    expect(() => checkWebhooks(webhooks, { noQueue })).toThrow(message);
    const options = { workflows: [], webhooks, secrets: ["x"], database: () => database.query, publicUrl: () => "" };
    // Node has no queue, and neither has a Worker without the option.
    expect(() => serveOnCloudflare(Object({ ...options, secrets: () => [] }))).toThrow(message.split(":")[0]);
    expect(() => serveByFetch(Object({ ...options, secrets: () => [] }))).toThrow(message.split(":")[0]);
    return expect(serveOnNode(Object({ ...options, secrets: [randomUUID().repeat(2)], port: 0 }))).rejects.toThrow(
      message.split(":")[0],
    );
  });

  test("or on AWS, when its module is loaded, where there is a queue", () => {
    const served = (webhooks: readonly Webhook<Env>[]) =>
      serveOnLambda(Object({ workflows: [], webhooks, database: () => database.query }));
    expect(() => served([shop, shop])).toThrow("is that of two webhooks");
    expect(() => served([asking])).not.toThrow();
  });

  test("and neither is one whose name is no part of an address", () => {
    expect(() => aShop(() => ignore(""), { name: "a/b" })).toThrow("is no part of an address");
  });
});
