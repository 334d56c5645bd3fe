/** Builders for tests of the dashboard: an app with one, and somebody who has signed in to it as a browser does. */
import { type DashboardOptions, dashboard } from "layover/dashboard";
import type { Query } from "../../../src/core/ports.ts";
import type { Scope } from "../../../src/http/api-key.ts";
import type { AppOptions } from "../../../src/http/app.ts";
import type { TestClientOptions } from "../../client/a-client.ts";
import { aKey, anApp, type TestApp } from "../an-app.ts";

export const origin = "https://example.com";

/** What a browser sends along with what a page's own script asks for. */
export const own = { "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", origin };

export interface DashboardApp extends TestApp {
  /** Exchanges a key for the cookie of a session. */
  signIn(key?: string): Promise<string>;
  /** Opens a page, as who has the cookie. */
  open(cookie: string, path: string, headers?: Record<string, string>): Promise<Response>;
  /** Sends what a form of a page sends. */
  send(
    cookie: string,
    path: string,
    texts?: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<Response>;
}

export function aDashboard(
  query: Query,
  options: Partial<AppOptions> & { readonly of?: DashboardOptions } = {},
  clientOptions: TestClientOptions = {},
): DashboardApp {
  const { of, ...appOptions } = options;
  const test = anApp(query, { dashboard: dashboard(of).mount, publicUrl: origin, ...appOptions }, clientOptions);
  const ask = async (path: string, init: RequestInit) => await test.app.request(`${origin}/dashboard/${path}`, init);
  return {
    ...test,
    signIn: async (key = aKey()) => {
      const response = await ask("sign-in", posted({ key }));
      return response.headers.get("set-cookie")?.split(";")[0] ?? "";
    },
    open: async (cookie, path, headers = {}) => await ask(path, { headers: { cookie, ...headers } }),
    send: async (cookie, path, texts = {}, headers = own) => await ask(path, posted(texts, { cookie, ...headers })),
  };
}

export function posted(texts: Record<string, string>, headers: Record<string, string> = own): RequestInit {
  return { method: "POST", body: JSON.stringify(texts), headers: { "content-type": "application/json", ...headers } };
}

/** A key that may look, and what else is named. */
export function aReadersKey(...more: readonly Scope[]): string {
  return aKey("read", ...more);
}
