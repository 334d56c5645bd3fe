/** Attacks of other websites, by a browser in which somebody is signed in. */
import { describe, expect, it } from "vitest";
import { dashboard } from "../../../src/http/dashboard/index.ts";
import { createSite } from "../../../src/http/site.ts";
import { namespace, secrets } from "../../client/a-client.ts";
import { testDatabase } from "../../postgres/database.ts";
import { aKey, bare } from "../an-app.ts";
import { aDashboard, origin, own, posted } from "./a-dashboard.ts";

const database = testDatabase();
const json = { "content-type": "application/json" };

describe("another website", () => {
  it.each([
    ["a page of another site", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
    ["a page of another host of the same site", { "sec-fetch-site": "same-site", origin: "https://evil.example.com" }],
    ["a page that claims our origin, and whose browser tells more", { "sec-fetch-site": "cross-site", origin }],
    ["whoever types an address", { "sec-fetch-site": "none" }],
    ["an old browser on another site", { origin: "https://evil.example" }],
    ["an old browser in a sandbox", { origin: "null" }],
    ["a program that says nothing", {}],
  ])("moves nothing: %s", async (_, headers) => {
    const { client, signIn, app, statements } = aDashboard(database.query);
    const { runId } = await client.start(bare);
    const cookie = await signIn();
    const before = statements.length;
    for (const path of [
      `runs/${runId}/cancel`,
      `runs/${runId}/delete`,
      "workflows/bare/start",
      "sign-in",
      "sign-out",
    ]) {
      const answer = await app.request(`${origin}/dashboard/${path}`, posted({ key: aKey() }, { cookie, ...headers }));
      expect([path, answer.status, answer.headers.get("set-cookie")]).toEqual([path, 403, null]);
    }
    expect(statements.length).toBe(before);
    expect((await client.get(runId)).status).toBe("queued");
  });

  it("moves nothing by a form, whose body is no JSON, even if a browser says that it comes from here", async () => {
    const { client, signIn, app } = aDashboard(database.query);
    const { runId } = await client.start(bare);
    const cookie = await signIn();
    for (const type of [
      "application/x-www-form-urlencoded",
      "multipart/form-data",
      "text/plain",
      "text/plain; application/json",
    ]) {
      const init = { method: "POST", body: '{"reason":"x"}', headers: { cookie, ...own, "content-type": type } };
      const answer = await app.request(`${origin}/dashboard/runs/${runId}/cancel`, init);
      expect([type, answer.status]).toEqual([type, 415]);
    }
    const get = await app.request(`${origin}/dashboard/runs/${runId}/cancel`, { headers: { cookie, ...own } });
    expect([get.status, (await client.get(runId)).status]).toEqual([405, "queued"]);
  });

  it("is no use to an old browser on the dashboard itself, which says its origin alone", async () => {
    const { client, send, signIn } = aDashboard(database.query);
    const { runId } = await client.start(bare);
    const answer = await send(await signIn(), `runs/${runId}/pause`, {}, { origin });
    expect(answer.status).toBe(200);
  });

  it("reads no page by a script, also where the API lets it call with cookies", async () => {
    const { client, signIn } = aDashboard(database.query);
    const cookie = await signIn();
    const site = createSite({
      prefix: "/layover",
      client,
      contracts: [bare],
      secrets,
      namespace,
      publicUrl: `${origin}/layover`,
      dashboard: dashboard().mount,
      cors: { origin: "https://shop.example.com", credentials: true },
      onError: () => {},
    });
    const ask = async (path: string, headers: Record<string, string>) =>
      await site.request(`${origin}/layover/${path}`, {
        headers: { origin: "https://shop.example.com", cookie, ...headers },
      });
    const fetched = { "sec-fetch-site": "same-site", "sec-fetch-mode": "cors" };
    const page = await ask("dashboard/", fetched);
    expect([page.status, page.headers.get("access-control-allow-origin")]).toEqual([403, null]);
    const clicked = await ask("dashboard/", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" });
    expect([clicked.status, clicked.headers.get("access-control-allow-origin")]).toEqual([200, null]);
    expect((await ask("v1/runs", fetched)).headers.get("access-control-allow-origin")).toBe("https://shop.example.com");
    const preflight = await site.request(`${origin}/layover/dashboard/workflows/bare/start`, {
      method: "OPTIONS",
      headers: { origin: "https://shop.example.com", "access-control-request-method": "POST", ...json },
    });
    expect(preflight.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("every answer of the dashboard", () => {
  it("is in no frame and no cache, runs no script but its own, and tells other sites no address", async () => {
    const { client, signIn, open, send, app } = aDashboard(database.query);
    const { runId } = await client.start(bare);
    const cookie = await signIn();
    const answers = [
      await open(cookie, ""),
      await open("", ""),
      await open(cookie, `runs/${runId}`),
      await open(cookie, "runs/unknown"),
      await open(cookie, "?version=x"),
      await app.request(`${origin}/dashboard/sign-in`),
      await send(cookie, `runs/${runId}/pause`),
      await send(cookie, `runs/${runId}/retry`),
      await app.request(`${origin}/dashboard/sign-in`, posted({ key: aKey() })),
    ];
    for (const { headers } of answers) {
      expect(Object.fromEntries(headers)).toMatchObject({
        "cache-control": "no-store",
        "content-security-policy":
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "same-origin",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
      });
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 303, 200, 404, 400, 200, 200, 409, 200]);
  });

  it("is refused for a path that only looks like one of the dashboard's", async () => {
    const { client, signIn, open, statements } = aDashboard(database.query);
    const { runId } = await client.start(bare);
    const cookie = await signIn();
    const before = statements.length;
    for (const path of [
      `runs/..%2f..%2fv1%2fruns%2f${runId}`,
      `runs/${runId}%2fcancel`,
      "runs/%00",
      "assets/..%2fsign-in",
      "workflows/constructor",
      "workflows/__proto__",
      `runs/${runId}/values/__proto__`,
      `runs/${runId}/records/0`,
      `runs/${runId}/records/1e9`,
      "deliveries",
      "no-such-page",
    ]) {
      expect([path, (await open(cookie, path)).status]).toEqual([path, 404]);
    }
    expect(statements.slice(before).filter((text) => /cancel|terminate|delete/.test(text))).toEqual([]);
  });
});
