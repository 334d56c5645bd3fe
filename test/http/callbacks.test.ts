/** What the URL of a callback answers to programs: the first answer counts, and a stranger learns nothing. */
import { describe, expect, it } from "vitest";
import { callbackOpener } from "../../src/http/callback-token.ts";
import { carryOut, namespace, sealCallback, secrets } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { aCallback, program } from "./a-callback.ts";
import { anApp, form, json, order } from "./an-app.ts";

describe("a callback's URL", () => {
  const database = testDatabase();

  it("is over once its token has ended, at no statement", async () => {
    const test = anApp(database.query);
    const { runId } = await test.client.start(order, { id: "1" });
    const ref = { runId, epoch: 0, path: "x", occurrence: 0, workflow: "order", version: 1, name: "approval" };
    const path = `/callbacks/${sealCallback({ ...ref, endsAt: Date.now() - 2 * 86_400_000 }).token}`;
    const before = test.statements.length;
    for (const request of [{ headers: program }, json({ ok: true }, program)]) {
      const response = await test.app.request(path, request);
      expect(response.status).toBe(410);
      expect(await response.json()).toMatchObject({
        code: "callback_expired",
        detail: 'the link to the callback "approval" has ended',
      });
    }
    expect(test.statements.length).toBe(before);
    const standing = `/callbacks/${sealCallback({ ...ref, endsAt: Date.now() + 86_400_000 }).token}`;
    const view = await (await test.app.request(standing, { headers: program })).json();
    expect(view).toEqual({ workflow: "order", version: 1, name: "approval", status: "open" });
  });

  it("takes an answer as JSON: the first counts, the same again is well, another is a conflict", async () => {
    const test = anApp(database.query);
    const { path, runId } = await aCallback(test);
    test.dispatches.length = 0;
    const answer = async (body: unknown) => {
      const response = await test.app.request(path, json(body, {}));
      return [response.status, await response.json()];
    };
    expect(await answer({ ok: "yes" })).toMatchObject([422, { code: "invalid_payload", path: "ok" }]);
    expect(await answer({ ok: true, more: 1 })).toEqual([200, { outcome: "resolved" }]);
    expect(await answer({ ok: true })).toEqual([200, { outcome: "resolved" }]);
    expect(await answer({ ok: false })).toMatchObject([409, { code: "callback_conflict" }]);
    // The same again dispatches again, as the first dispatch may be lost: until somebody has claimed the turn.
    const dispatched = { turns: [{ runId, turn: 2 }], delayMs: 0 };
    expect(test.dispatches).toEqual([dispatched, dispatched]);
    const claimed = await carryOut(test.calls, { runId, workflow: "order", turn: 2 }, { completed: 1 });
    expect(claimed.callbacks).toMatchObject([{ outcome: "resolved", value: '1{"ok":true}' }]);
    expect(await answer({ ok: true })).toEqual([200, { outcome: "resolved" }]);
    expect(test.dispatches).toHaveLength(2);
    expect(await (await test.app.request(path)).text()).toContain("Already answered");
  });

  it("is asked what became of it before the body of an answer is read", async () => {
    const test = anApp(database.query);
    const { path } = await aCallback(test, { until: Date.now() - 1_000 });
    let pulls = 0;
    const body = new ReadableStream(
      {
        pull(controller) {
          pulls += 1;
          controller.enqueue(new Uint8Array(1_000).fill(32));
        },
      },
      { highWaterMark: 0 },
    );
    for (const to of [path, `${path}/reject`]) {
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body, duplex: "half" };
      expect((await test.app.request(to, init)).status).toBe(410);
    }
    expect(pulls).toBe(0);
  });

  it("costs no statement once the process knows that it was answered", async () => {
    const test = anApp(database.query);
    const { path } = await aCallback(test);
    expect((await test.app.request(`${path}/reject`, json({ message: "no" }, {}))).status).toBe(200);
    expect(await (await test.app.request(path)).text()).toContain("Already answered");
    const before = test.statements.length;
    expect(await (await test.app.request(path)).text()).toContain("Already answered");
    expect((await test.app.request(path, json({ ok: true }, {}))).status).toBe(409);
    expect(test.statements.length).toBe(before);
  });

  it("rejects, by JSON or by the page's form", async () => {
    const test = anApp(database.query);
    const one = await aCallback(test);
    const missing = await test.app.request(`${one.path}/reject`, json({ name: "X" }, {}));
    expect([missing.status, await missing.json()]).toMatchObject([400, { field: "message" }]);
    const byJson = await test.app.request(
      `${one.path}/reject`,
      json({ name: "NotToday", message: "closed", data: [1] }, {}),
    );
    expect([byJson.status, await byJson.json()]).toEqual([200, { outcome: "rejected" }]);
    const claimed = await carryOut(test.calls, { runId: one.runId, workflow: "order", turn: 2 }, { completed: 1 });
    expect(claimed.callbacks).toMatchObject([
      { outcome: "rejected", value: '1{"name":"NotToday","message":"closed","data":[1]}' },
    ]);

    const two = await aCallback(test);
    const byForm = await test.app.request(`${two.path}/reject`, form({ reason: "" }));
    expect([byForm.status, await byForm.text()]).toEqual([200, expect.stringContaining("Rejected")]);
    expect((await test.app.request(two.path, json({ ok: true }, {}))).status).toBe(409);
  });

  it("says 410 when it is too late or the run is over", async () => {
    const test = anApp(database.query);
    const late = await aCallback(test, { until: Date.now() - 1_000 });
    const asked = await test.app.request(late.path);
    expect([asked.status, await asked.text()]).toEqual([410, expect.stringContaining("Too late")]);
    const answered = await test.app.request(late.path, json({ ok: true }, {}));
    expect([answered.status, await answered.json()]).toMatchObject([410, { code: "callback_expired" }]);
    const over = await aCallback(test);
    await test.client.rejectCallback(over.path.replace("/callbacks/", ""), "no");
    const other = await aCallback(test);
    await database.pool.query(
      "update layover.run_state set status = 'completed', ended_at = now(), ready_at = null, due_at = null where run_id = $1",
      [other.runId],
    );
    expect((await test.app.request(other.path, json({ ok: true }, {}))).status).toBe(410);
  });

  it("is checked by the newest contract when the run's version is gone", async () => {
    const test = anApp(database.query);
    const { runId } = await test.client.start(order, { id: "1" });
    const { token } = sealCallback({
      runId,
      epoch: 0,
      path: "p",
      occurrence: 0,
      workflow: "order",
      version: 7,
      name: "approval",
    });
    expect((await test.app.request(`/callbacks/${token}`, json({ ok: 1 }, {}))).status).toBe(422);
    expect((await test.app.request(`/callbacks/${token}`, json({ ok: true }, {}))).status).toBe(200);
  });

  it("has its token verified once for each request", async () => {
    const opened: string[] = [];
    const openCallback = (token: string) => {
      opened.push(token);
      return callbackOpener({ secrets, namespace })(token);
    };
    const test = anApp(database.query, {}, { openCallback });
    for (const [action, init] of [
      ["", {}],
      ["", json({ ok: true }, {})],
      ["/reject", json({ message: "no" }, {})],
    ] as const) {
      const { path } = await aCallback(test);
      opened.length = 0;
      expect((await test.app.request(path + action, init)).status).toBe(200);
      expect(opened).toHaveLength(1);
    }
  });

  it("tells a stranger nothing, and asks the database nothing", async () => {
    const test = anApp(database.query);
    const { path } = await aCallback(test);
    const sent = test.statements.length;
    const forged = `${path.slice(0, -1)}${path.endsWith("A") ? "B" : "A"}`;
    for (const each of [
      forged,
      "/callbacks/x",
      "/callbacks/%00",
      "/callbacks/..%2f..",
      `/callbacks/${"x".repeat(100_000)}`,
    ]) {
      for (const init of [{}, { method: "HEAD" }, json({ ok: true }, {}), form({ payload: "{}" })]) {
        expect((await test.app.request(each, init)).status).toBe(404);
      }
      expect((await test.app.request(`${each}/reject`, json({ message: "no" }, {}))).status).toBe(404);
    }
    expect(await (await test.app.request(forged, { headers: program })).json()).toMatchObject({
      code: "unknown_callback",
      detail: "there is no such callback",
    });
    expect(await (await test.app.request(forged)).text()).toContain("Nothing here");
    expect(test.statements.length).toBe(sent);
  });
});
