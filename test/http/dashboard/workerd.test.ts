/** The dashboard of a Worker, in the Workers runtime: signing in and its pages need no database, and none of Node's modules. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { expect, it, onTestFinished } from "vitest";
import { createApiKey } from "../../../src/http/api-key.ts";
import { secret, secrets } from "../../client/a-client.ts";

const worker = `
  import { serve } from "layover/cloudflare";
  import { dashboard } from "layover/dashboard";
  import { workflow } from "layover";
  const bare = workflow({ name: "bare", version: 1 }).handler(async () => {});
  export default serve({
    workflows: [bare], prefix: "/layover", dashboard: dashboard({ title: "Shop" }),
    database: () => Object.assign(async () => { throw new Error("asked"); }, { endpoint: "nowhere" }),
    publicUrl: () => "https://shop.example/layover", secrets: ({ SECRET }) => [SECRET],
    onEvent: () => {}, onLog: () => {},
  });`;

it("signs people in on workerd, under a prefix", async () => {
  const { outputFiles } = await build({
    stdin: { contents: worker, resolveDir: fileURLToPath(new URL("../../..", import.meta.url)) },
    bundle: true,
    minify: true,
    keepNames: true, // as wrangler bundles: names of functions are kept by calls that no browser knows
    format: "esm",
    platform: "browser",
    conditions: ["workerd", "layover-source"],
    external: ["cloudflare:workers", "node:*"],
    write: false,
  });
  const miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "worker.js", contents: outputFiles[0]?.text ?? "" }],
    compatibilityDate: "2026-08-01",
    bindings: { SECRET: secret },
    cf: false,
    telemetry: { enabled: false },
  });
  onTestFinished(() => miniflare.dispose());
  const root = "https://shop.example/layover/dashboard";
  const page = await miniflare.dispatchFetch(`${root}/`, { redirect: "manual" });
  expect([page.status, page.headers.get("location")]).toEqual([303, "./sign-in"]);
  const signIn = await (await miniflare.dispatchFetch(`${root}/sign-in`)).text();
  expect(signIn).toContain("Sign in · Shop");
  const [script = ""] = /assets\/script-[\w-]+\.js/.exec(signIn) ?? [];
  const text = await (await miniflare.dispatchFetch(`${root}/${script}`)).text();
  expect(text).toMatch(/^"use strict";/);
  expect(text).not.toContain("__name");
  const key = createApiKey(secrets, { name: "ada", namespace: "default", scopes: ["read"] });
  const answer = await miniflare.dispatchFetch(`${root}/sign-in`, {
    method: "POST",
    body: JSON.stringify({ key }),
    headers: { "content-type": "application/json", origin: "https://shop.example" },
  });
  expect([answer.status, await answer.json()]).toEqual([200, { to: "" }]);
  expect(answer.headers.get("set-cookie")).toMatch(/^__Host-layover-session=.*Secure; SameSite=Lax$/);
  const foreign = await miniflare.dispatchFetch(`${root}/sign-in`, {
    method: "POST",
    body: JSON.stringify({ key }),
    headers: { "content-type": "application/json", origin: "https://evil.example" },
  });
  expect(foreign.status).toBe(403);
});
