/** Who may come in, how long, and what a session may do. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { createApiKey, readApiKey } from "../../../src/http/api-key.ts";
import { Secrets } from "../../../src/http/secrets.ts";
import { namespace, secrets } from "../../client/a-client.ts";
import { testDatabase } from "../../postgres/database.ts";
import { aKey, bare, json } from "../an-app.ts";
import { aDashboard, aReadersKey, origin, own, posted } from "./a-dashboard.ts";

const database = testDatabase();
const hourMs = 60 * 60 * 1_000;

afterEach(() => {
  vi.useRealTimers();
});

describe("the dashboard", () => {
  it("exchanges an API key for a session, without a statement, and opens its pages to it", async () => {
    const { app, statements, open } = aDashboard(database.query);
    const response = await app.request(`${origin}/dashboard/sign-in`, posted({ key: aKey(), to: "?status=failed" }));
    expect([response.status, await response.json(), statements]).toEqual([200, { to: "?status=failed" }, []]);
    const cookie = response.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(
      /^__Host-layover-session=[\w-]+\.[\w-]+; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const page = await open(cookie.split(";")[0] ?? "", "");
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("<h1>Runs</h1>")]);
  });

  it("sends whoever has no session to sign in, and back to where they wanted to go, and asks the database nothing", async () => {
    const { app, open, statements } = aDashboard(database.query);
    const id = "01a1f975-5531-7046-9092-7e7c27daa9ce";
    const refused = await open("", `runs/${id}?after=3`);
    expect([refused.status, refused.headers.get("location")]).toEqual([
      303,
      `../sign-in?to=${encodeURIComponent(`runs/${id}?after=3`)}`,
    ]);
    const signIn = await app.request(`${origin}/dashboard/sign-in?to=runs/${id}`);
    expect(await signIn.text()).toContain(`name="to" value="runs/${id}"`);
    const script = /assets\/script-[\w-]+\.js/.exec(
      await (await app.request(`${origin}/dashboard/sign-in`)).text(),
    )?.[0];
    expect((await app.request(`${origin}/dashboard/${script}`)).status).toBe(200);
    expect((await app.request(`${origin}/dashboard`)).headers.get("location")).toBe("./dashboard/sign-in");
    expect((await open("", `runs/${id}/`)).headers.get("location")).toBe(`../../sign-in?to=runs%2F${id}`);
    expect(statements).toEqual([]);
  });

  it.each([
    "//evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "/\\evil.example",
    "../..",
    "a//b",
    "\\\\evil",
  ])("leads nobody to %s after the sign-in", async (to) => {
    const { app } = aDashboard(database.query);
    const page = await app.request(`${origin}/dashboard/sign-in?to=${encodeURIComponent(to)}`);
    expect(await page.text()).toContain('name="to" value=""');
    const answer = await app.request(`${origin}/dashboard/sign-in`, posted({ key: aKey(), to }));
    expect(await answer.json()).toEqual({ to: "" });
  });

  it("ends a session after twelve hours, and with its key if that ends before", async () => {
    const { signIn, open } = aDashboard(database.query);
    const soon = createApiKey(secrets, {
      name: "soon",
      namespace,
      scopes: ["read"],
      expiresAt: new Date(Date.now() + hourMs),
    });
    const [long, short] = [await signIn(), await signIn(soon)];
    const statusAfter = async (hours: number, cookie: string) => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * hourMs });
      const { status } = await open(cookie, "workflows");
      vi.useRealTimers();
      return status;
    };
    expect([await statusAfter(0.9, short), await statusAfter(1.1, short)]).toEqual([200, 303]);
    expect([await statusAfter(11.9, long), await statusAfter(12.1, long)]).toEqual([200, 303]);
  });

  it("lets a session do nothing more once its key is revoked, on any page and by any button", async () => {
    const { signIn, open, send, client, calls } = aDashboard(database.query);
    const key = aKey();
    const cookie = await signIn(key);
    expect((await open(cookie, "workflows")).status).toBe(200);
    await calls.revokeKey({ keyId: readApiKey(key)?.keyId ?? "" });
    const other = aDashboard(database.query); // one that remembers no revoked key
    for (const dashboard of [{ open, send }, other]) {
      for (const path of ["", "workflows", "workflows/order", "runs/01a1f975-5531-7046-9092-7e7c27daa9ce"]) {
        const answer = await dashboard.open(cookie, path);
        expect([path, answer.status, answer.headers.get("set-cookie")]).toEqual([
          path,
          303,
          expect.stringContaining("Max-Age=0"),
        ]);
      }
      expect((await dashboard.send(cookie, "workflows/bare/start")).status).toBe(401);
    }
    expect((await client.list()).runs).toEqual([]);
  });

  it("takes no session that was changed, signed by another secret, or made for another namespace or environment", async () => {
    const cookie = await aDashboard(database.query).signIn();
    const [name = "", session = ""] = cookie.split(/=(.*)/);
    const [text = "", mac = ""] = session.split(".");
    const content = JSON.parse(Buffer.from(text, "base64url").toString());
    const widened = Buffer.from(JSON.stringify({ ...content, scopes: ["read", "admin"] })).toString("base64url");
    const { open } = aDashboard(database.query);
    for (const bad of [
      `${widened}.${mac}`,
      `${text}.${secrets.sign("api key", text)}`,
      `${text}.${secrets.sign("webhook", text)}`,
      `${text}.`,
      `${text}.${mac}.${mac}`,
      "e30",
      "",
    ]) {
      expect((await open(`${name}=${bad}`, "workflows")).status, bad).toBe(303);
    }
    const others = [
      { secrets: new Secrets(["another secret, also of good length: 0123456789"]) },
      { namespace: "another" },
      { environment: "staging" },
    ];
    for (const other of others)
      expect((await aDashboard(database.query, other).open(cookie, "workflows")).status).toBe(303);
    expect((await open(cookie, "workflows")).status).toBe(200);
  });

  it("takes a session for no API key, and an API key for no session", async () => {
    const { app, open, signIn } = aDashboard(database.query);
    const session = (await signIn()).split("=")[1] ?? "";
    const headers = { authorization: `Bearer ${session}`, cookie: `__Host-layover-session=${session}` };
    expect((await app.request(`${origin}/v1/runs`, { headers })).status).toBe(401);
    expect((await app.request(`${origin}/v1/workflows/bare/runs`, json({}, { cookie: headers.cookie }))).status).toBe(
      401,
    );
    expect((await open(`__Host-layover-session=${aKey()}`, "workflows")).status).toBe(303);
  });

  it("shows and does what the scopes of the key allow, and nothing else", async () => {
    const { client, signIn, open, send } = aDashboard(database.query);
    const { runId } = await client.start(bare);
    const cookie = await signIn(aReadersKey());
    const page = await (await open(cookie, `runs/${runId}`)).text();
    expect(page).not.toContain('data-act="cancel"');
    for (const act of [
      "pause",
      "resume",
      "cancel",
      "terminate",
      "delete",
      "retry",
      "restart",
      "fork",
      "signal",
      "resolve",
      "reject",
    ]) {
      const answer = await send(cookie, `runs/${runId}/${act}`, { name: "x" });
      expect([act, answer.status]).toEqual([act, 403]);
    }
    expect((await send(cookie, "workflows/bare/start")).status).toBe(403);
    expect((await send(cookie, "workflows/bare/pause")).status).toBe(403);
    expect((await signIn(aKey("start", "admin"))).length).toBe(0); // it cannot read
    expect((await client.get(runId)).status).toBe("queued");
  });

  it("knows people by the deployment's own authenticate as well, and sends others to its sign-in page", async () => {
    const authenticate = (request: Request) =>
      request.headers.get("cookie") === "shop=ada" ? { name: "ada", scopes: ["read", "admin"] as const } : undefined;
    const { open, send, client } = aDashboard(database.query, {
      authenticate,
      of: { signIn: "https://shop.example/in" },
    });
    const { runId } = await client.start(bare);
    expect(await (await open("shop=ada", `runs/${runId}`)).text()).toContain("ada");
    const paused = await send("shop=ada", `runs/${runId}/pause`, { reason: "later" });
    expect(await paused.json()).toEqual({ said: "The run is paused." });
    const { operations } = await client.history(runId);
    expect(operations).toMatchObject([{ verb: "pause", by: "ada", reason: "later" }]);
    expect((await open("shop=eve", "")).headers.get("location")).toBe("https://shop.example/in");
  });

  it("ends the session when somebody signs out, also for who has copied it, and no other session of the key", async () => {
    const { signIn, send, open, statements, calls } = aDashboard(database.query);
    const key = aKey();
    const [cookie, other] = [await signIn(key), await signIn(key)];
    expect((await open(cookie, "workflows")).status).toBe(200);
    const { keys } = await calls.listKeys();
    statements.length = 0;
    const answer = await send(cookie, "sign-out");
    expect(answer.headers.get("set-cookie")).toMatch(/^__Host-layover-session=; Max-Age=0;/);
    expect(statements).toEqual([expect.stringContaining("revoke_key")]);
    for (const dashboard of [{ open, send }, aDashboard(database.query)]) {
      for (const path of ["", "workflows", "workflows/order", "runs/01a1f975-5531-7046-9092-7e7c27daa9ce"]) {
        expect([path, (await dashboard.open(cookie, path)).status]).toEqual([path, 303]);
        expect([path, (await dashboard.open(other, path)).status]).not.toEqual([path, 303]);
      }
      expect((await dashboard.send(cookie, "workflows/bare/start")).status).toBe(401);
      expect((await dashboard.send(cookie, "sign-out")).status).toBe(200);
    }
    expect((await calls.listKeys()).keys).toEqual(keys);
    await calls.by(readApiKey(key)?.keyId ?? "").checkKey();
  });

  it("keeps what it knows of a session that ended until a day after it would have ended by itself", async () => {
    const { signIn, send } = aDashboard(database.query);
    const ended = async () =>
      (await database.pool.query("select expires_at from layover.api_key where name is null")).rows;
    await send(await signIn(), "sign-out");
    const before = await ended();
    await database.pool.query("update layover.api_key set expires_at = now() - interval '23 hours'");
    await send(await signIn(), "sign-out");
    expect(await ended()).toHaveLength(before.length + 1);
    await database.pool.query("update layover.api_key set expires_at = now() - interval '25 hours' where name is null");
    await send(await signIn(), "sign-out");
    expect(await ended()).toHaveLength(1);
  });

  it("asks the database nothing where no session is signed out, and keeps the session where that could not be written", async () => {
    const { signIn, send, statements } = aDashboard(database.query);
    const cookie = await signIn();
    for (const none of ["", "__Host-layover-session=x.y", `${cookie}x`])
      expect((await send(none, "sign-out")).status).toBe(200);
    expect(statements).toEqual([]);
    const down = aDashboard(
      Object.assign(() => Promise.reject(new Error("down")), { endpoint: database.query.endpoint }),
    );
    const answer = await down.send(cookie, "sign-out");
    expect([answer.status >= 500, answer.headers.get("set-cookie")]).toEqual([true, null]);
  });

  it("sets a cookie over http on one's own machine alone, where browsers keep no other", async () => {
    const headers = { "sec-fetch-site": "same-origin" };
    for (const publicUrl of [undefined, "http://localhost:3000/layover"]) {
      const { app } = aDashboard(database.query, { publicUrl });
      for (const [url, cookie] of [
        ["http://localhost:3000", /^layover-session-3000=.*HttpOnly; SameSite=Lax$/],
        ["http://127.0.0.1:3000", /^layover-session-3000=/],
        ["http://shop.example", /^__Host-layover-session=.*Secure/],
        ["http://localhost.evil.example", /^__Host-layover-session=.*Secure/],
      ] as const) {
        const answer = await app.request(`${url}/dashboard/sign-in`, posted({ key: aKey() }, headers));
        expect(answer.headers.get("set-cookie"), url).toMatch(cookie);
      }
    }
  });

  it.each(["https", "HTTPS", "https, http"])(
    "sets a secure cookie where a proxy says that the browser came by %s",
    async (proto) => {
      const { app } = aDashboard(database.query, { publicUrl: "http://localhost:3000" }); // as on Node where nobody set it
      const headers = { "sec-fetch-site": "same-origin", "x-forwarded-proto": proto };
      const root = "http://localhost:3000/dashboard";
      const answer = await app.request(`${root}/sign-in`, posted({ key: aKey() }, headers));
      const set = answer.headers.get("set-cookie") ?? "";
      expect(set).toMatch(/^__Host-layover-session=.*; Secure; SameSite=Lax$/);
      const cookie = set.split(";")[0] ?? "";
      expect((await app.request(`${root}/workflows`, { headers: { ...headers, cookie } })).status).toBe(200);
    },
  );

  it.each(["http", "http, https", "", "httpsx"])(
    "keeps the cookie of one's own machine where a proxy says %j",
    async (proto) => {
      const { app } = aDashboard(database.query, { publicUrl: "http://localhost:3000" });
      const headers = { "sec-fetch-site": "same-origin", "x-forwarded-proto": proto };
      const answer = await app.request("http://localhost:3000/dashboard/sign-in", posted({ key: aKey() }, headers));
      expect(answer.headers.get("set-cookie")).toMatch(/^layover-session-3000=.*HttpOnly; SameSite=Lax$/);
    },
  );

  it("sets a secure cookie behind a proxy that asks for localhost, and takes it there", async () => {
    const { app } = aDashboard(database.query, { publicUrl: "https://shop.example/layover" });
    const root = "http://localhost:3000/dashboard"; // as `proxy_pass http://localhost:3000` of nginx asks
    const signedIn = await app.request(`${root}/sign-in`, posted({ key: aKey() }));
    const set = signedIn.headers.get("set-cookie") ?? "";
    expect(set).toMatch(/^__Host-layover-session=.*; Secure; SameSite=Lax$/);
    const [cookie = ""] = set.split(";");
    expect((await app.request(`${root}/`, { headers: { cookie } })).status).toBe(200);
    const damaged = await app.request(`${root}/`, { headers: { cookie: `${cookie}x` } });
    expect(damaged.headers.get("set-cookie")).toMatch(/^__Host-layover-session=; Max-Age=0;.*Secure/);
    const signedOut = await app.request(`${root}/sign-out`, posted({}, { ...own, cookie }));
    expect(signedOut.headers.get("set-cookie")).toMatch(/^__Host-layover-session=; Max-Age=0;.*Secure/);
    expect((await app.request(`${root}/`, { headers: { cookie } })).status).toBe(303);
  });
});
