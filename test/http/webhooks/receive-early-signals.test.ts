/** A signal that is delivered before its run was started: it is kept for the run, within bounds and for a time. */
import { randomUUID } from "node:crypto";
import { signal } from "layover/webhooks";
import { describe, expect, test } from "vitest";
import { carryOut, namespace } from "../../client/a-client.ts";
import { testDatabase } from "../../postgres/database.ts";
import { anything, order } from "../an-app.ts";
import { anAppWith, aShop } from "./a-webhook.ts";
import { done, runs, shop, shown } from "./shop.ts";

const database = testDatabase({ perTest: true });

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
