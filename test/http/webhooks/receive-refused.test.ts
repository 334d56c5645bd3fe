/** What becomes of a request that its sender has not signed, and of a delivery that is not carried out. */
import { start } from "layover/webhooks";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { type Query, QueryError } from "../../../src/core/ports.ts";
import { carryOut } from "../../client/a-client.ts";
import { testDatabase } from "../../postgres/database.ts";
import { anything, json, order } from "../an-app.ts";
import { anAppWith, aShop, signed } from "./a-webhook.ts";
import { done, runs, shop, shown } from "./shop.ts";

const database = testDatabase({ perTest: true });

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
    await app.client.restart(run.runId);
    const played = await app.request("/v1/webhooks/shop/deliveries/d1/replay", json({}));
    expect(played).toEqual({ status: 200, body: { outcome: "done" } });
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
