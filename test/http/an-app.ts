/** Builders for tests of HTTP: an app over a test's database, and requests to it. */
import type { Hono } from "hono";
import * as z from "zod";
import { type Contract, workflow } from "../../src/core/contract/contract.ts";
import type { Query } from "../../src/core/ports.ts";
import { createApiKey, type Scope, scopes } from "../../src/http/api-key.ts";
import type { AppOptions } from "../../src/http/app.ts";
import { aClient, namespace, secrets, type TestClient, type TestClientOptions } from "../client/a-client.ts";
import { aDescribedApp } from "./openapi/described.ts";

export const order = workflow({
  name: "order",
  version: 1,
  input: z.object({ id: z.string(), amount: z.number().default(1) }),
  signals: { address: z.object({ city: z.string() }) },
  callbacks: { approval: z.object({ ok: z.boolean() }), anything: z.unknown() },
});
export const orderV2 = workflow({
  name: "order",
  version: 2,
  input: z.object({ id: z.string(), amount: z.number().default(2) }),
  signals: { address: z.object({ city: z.string(), zip: z.string() }) },
});
export const anything = workflow({ name: "anything", version: 1, input: z.unknown(), signals: { any: z.unknown() } });
export const bare = workflow({ name: "bare", version: 1 });
const contracts: readonly Contract[] = [order, anything, bare];

export interface TestApp extends TestClient {
  readonly app: Hono;
  /** What `onError` was told. */
  readonly errors: unknown[];
}

export function anApp(
  query: Query,
  { sendsAnything = false, ...options }: Partial<AppOptions> & { readonly sendsAnything?: boolean } = {},
  clientOptions: TestClientOptions = {},
): TestApp {
  const test = aClient(query, clientOptions);
  const errors: unknown[] = [];
  const onError = (error: unknown) => {
    errors.push(error);
  };
  const app = aDescribedApp(
    { client: test.client, contracts, secrets, namespace, onError, ...options },
    { sendsAnything },
  );
  return { ...test, app, errors };
}

export function aKey(...granted: readonly Scope[]): string {
  return createApiKey(secrets, { name: "test", namespace, scopes: granted.length === 0 ? scopes : granted });
}

/** The headers of someone who may do everything. */
export const authorized = { authorization: `Bearer ${aKey()}` };

export function json(body: unknown, headers: Record<string, string> = authorized): RequestInit {
  return { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", ...headers } };
}

export function form(fields: Record<string, string>, headers: Record<string, string> = {}): RequestInit {
  return {
    method: "POST",
    body: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", accept: "text/html,*/*", ...headers },
  };
}
