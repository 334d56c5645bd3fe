/** What is stored of a delivery, who may see it there, and how long it stays. */
import { createHmac } from "node:crypto";
import { type Decision, hmac, signal, start, webhook } from "layover/webhooks";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../../postgres/database.ts";
import { aKey, anything, authorized, json, order } from "../an-app.ts";
import { anAppWith, aShop, type Env, signed } from "./a-webhook.ts";
import { done, runs, shop, shown } from "./shop.ts";

const database = testDatabase({ perTest: true });

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
