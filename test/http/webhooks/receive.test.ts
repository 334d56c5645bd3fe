/** What a sender's delivery does: all of it or nothing, once, whoever sends it again and in whatever order. */
import { answer, signal, signalWithStart, start } from "layover/webhooks";
import { describe, expect, test } from "vitest";
import { carryOut } from "../../client/a-client.ts";
import { testDatabase } from "../../postgres/database.ts";
import { anything, json, order } from "../an-app.ts";
import { anAppWith, aShop } from "./a-webhook.ts";
import { done, runs, shop, shown } from "./shop.ts";

const database = testDatabase({ perTest: true });

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
