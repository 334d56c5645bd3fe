/** The page that the URL of a callback shows to a person, and the forms that are sent to it. */
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { carryOut, sealCallback } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { aCallback, program } from "./a-callback.ts";
import { anApp, form, json, order } from "./an-app.ts";

/** Where a browser sends the forms of a page that it got from `path`. */
function actionsIn(page: string, path: string): string[] {
  return [...page.matchAll(/action="([^"]+)"/g)].map(
    ([, action = ""]) => new URL(action, `http://localhost${path}`).pathname,
  );
}

describe("a callback's URL", () => {
  const database = testDatabase();
  const answers = async () => (await database.pool.query("select outcome, value from layover.callback")).rows;

  it("shows a page that asks, and resolves nothing, however often it is opened", async () => {
    const test = anApp(database.query);
    const { path } = await aCallback(test, { until: Date.UTC(2030, 0, 2, 3, 4) });
    const before = await answers();
    for (const method of ["GET", "HEAD", "GET"]) expect((await test.app.request(path, { method })).status).toBe(200);
    const response = await test.app.request(path);
    const page = await response.text();
    expect(page).toContain("Answer “approval”");
    expect(page).toContain("order, version 1");
    expect(page).toContain("2030-01-02 03:04 UTC");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex, nofollow",
      "content-security-policy": expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'/,
      ),
    });
    expect(await (await test.app.request(path, { headers: program })).json()).toMatchObject({
      name: "approval",
      status: "open",
    });
    expect(await answers()).toEqual(before);
    expect(test.dispatches).toHaveLength(1);
  });

  it("has its style let through by its own policy", async () => {
    const test = anApp(database.query);
    const response = await test.app.request((await aCallback(test)).path);
    const style = /<style>([\s\S]*)<\/style>/.exec(await response.text())?.[1] ?? "";
    const digest = Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style))).toString(
      "base64",
    );
    expect(response.headers.get("content-security-policy")).toContain(`'sha256-${digest}'`);
  });

  it("takes the page's own form, with pages for answers", async () => {
    const test = anApp(database.query);
    const { path } = await aCallback(test);
    const wrong = await test.app.request(path, form({ payload: '{"ok": tru}</textarea><script>' }));
    const again = await wrong.text();
    expect([wrong.status, wrong.headers.get("content-type")]).toEqual([400, "text/html; charset=utf-8"]);
    expect(again).toContain("The answer is not JSON");
    expect(again).toContain("{&quot;ok&quot;: tru}&lt;/textarea&gt;&lt;script&gt;");
    expect(again).not.toContain("<script>");
    const unfit = await test.app.request(path, form({ payload: '{"ok": "yes"}' }));
    expect([unfit.status, await unfit.text()]).toEqual([422, expect.stringContaining("expected boolean")]);
    const well = await test.app.request(path, form({ payload: '{"ok": true}' }));
    expect([well.status, await well.text()]).toEqual([200, expect.stringContaining("Your answer was sent")]);
    const other = await test.app.request(path, form({ payload: '{"ok": false}' }));
    expect([other.status, await other.text()]).toEqual([409, expect.stringContaining("Already answered")]);
  });

  it("takes any other form as an object of its fields", async () => {
    const test = anApp(database.query);
    const { path, runId } = await aCallback(test, { name: "anything" });
    const init = { ...form({}, program), body: "a=1&b=2&b=3&__proto__=x" };
    expect((await test.app.request(path, init)).status).toBe(200);
    const claimed = await carryOut(test.calls, { runId, workflow: "order", turn: 2 }, { completed: 1 });
    expect(claimed.callbacks).toMatchObject([{ value: '1{"a":"1","b":["2","3"],"__proto__":"x"}' }]);
  });

  it("refuses a form of very many fields, open or answered, whatever their names", async () => {
    const test = anApp(database.query);
    const { path } = await aCallback(test, { name: "anything" });
    const many = { ...form({}, program), body: Array.from({ length: 100_000 }, (_, index) => `f${index}=1`).join("&") };
    const refused = async (to: string) => {
      const response = await test.app.request(to, many);
      return [response.status, await response.json()];
    };
    const limit = [413, { code: "too_many_fields", limit: 1_000 }];
    expect(await refused(path)).toMatchObject(limit);
    expect(await refused(`${path}/reject`)).toMatchObject(limit);
    expect((await test.app.request(path, json({ ok: true }, {}))).status).toBe(200);
    expect(await refused(path)).toMatchObject(limit);
    expect(await refused(`${path}/reject`)).toMatchObject([409, { code: "callback_conflict" }]);
  });

  it("has forms that lead back to it under any prefix", async () => {
    const test = anApp(database.query);
    const { path } = await aCallback(test);
    const parent = new Hono().route("/deep/layover", test.app);
    const page = await (await parent.request(`/deep/layover${path}`)).text();
    expect(actionsIn(page, `/deep/layover${path}`)).toEqual([`/deep/layover${path}`, `/deep/layover${path}/reject`]);
    const withSlash = await (await test.app.request(`${path}/`)).text();
    expect(actionsIn(withSlash, `${path}/`)).toEqual([path, `${path}/reject`]);
    expect((await parent.request(`/deep/layover${path}`, form({ payload: '{"ok":true}' }))).status).toBe(200);
  });

  it("shows names as text, whatever is in them", async () => {
    const test = anApp(database.query);
    const { runId } = await test.client.start(order, { id: "1" });
    const name = `<img src=x onerror="alert(1)">&'`;
    const { token } = sealCallback({ runId, epoch: 0, path: "p", occurrence: 0, workflow: name, version: 1, name });
    const page = await (await test.app.request(`/callbacks/${token}`)).text();
    expect(page).not.toContain("<img");
    expect(page).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&amp;&#39;");
  });
});
