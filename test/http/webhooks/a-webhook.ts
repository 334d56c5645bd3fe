/** Builders for tests of webhooks: an app with one, and a sender that signs. */
import {
  type Decision,
  type Delivered,
  standardWebhooks,
  type Webhook,
  type WebhookOptions,
  webhook,
} from "layover/webhooks";
import type { Query } from "../../../src/core/ports.ts";
import type { LayoverEvent } from "../../../src/engine/events.ts";
import type { Secrets } from "../../../src/http/secrets.ts";
import { mountWebhooks } from "../../../src/http/webhooks/mount.ts";
import { secrets } from "../../client/a-client.ts";
import { signed as signedBy } from "../../standard-webhooks.ts";
import { anApp, authorized, type TestApp } from "../an-app.ts";

const secret = `whsec_${Buffer.from("a secret of a sender's own").toString("base64")}`;
const env = { SECRET: secret };
export type Env = typeof env;

export interface ShopEvent {
  readonly type: string;
  readonly order: string;
  readonly amount?: number;
}

/** What is sent to it is an event of a shop. */
export function aShop(
  on: (delivered: Delivered<ShopEvent, Env>) => Decision,
  options: Partial<Omit<WebhookOptions<Env, ShopEvent, ShopEvent>, "on" | "respond">> = {},
): Webhook<Env> {
  const signed = standardWebhooks<Env>(({ SECRET }) => SECRET);
  // The sender's events are as the type says, but where a test gives a schema.
  const verify = signed as WebhookOptions<Env, ShopEvent, ShopEvent>["verify"];
  return webhook({ name: "shop", verify, on, ...options });
}

export interface WebhookApp extends TestApp {
  readonly events: LayoverEvent[];
  /** Sends a signed request. */
  deliver(id: string, event: unknown): Promise<{ readonly status: number; readonly body: unknown }>;
  request(path: string, init?: RequestInit): Promise<{ readonly status: number; readonly body: unknown }>;
  /** The SQL functions that were called since the last time that a test asked, but for the question for the time. */
  called(): readonly string[];
}

export function anAppWith(query: Query, ...webhooks: readonly Webhook<Env>[]): WebhookApp {
  return anAppBy(secrets, query, ...webhooks);
}

/** The same by other root secrets. */
export function anAppBy(secrets: Secrets, query: Query, ...webhooks: readonly Webhook<Env>[]): WebhookApp {
  const events: LayoverEvent[] = [];
  const tell = (event: LayoverEvent) => {
    events.push(event);
  };
  const test = anApp(query, { secrets, webhooks: mountWebhooks(webhooks, { env, tell }) });
  const request: WebhookApp["request"] = async (path, init = { headers: authorized }) => {
    const response = await test.app.request(path, init);
    const text = await response.text();
    const isJson = (response.headers.get("content-type") ?? "").includes("json");
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  };
  return {
    ...test,
    events,
    request,
    deliver: (id, event) => request("/webhooks/shop", signed(id, JSON.stringify(event))),
    called: () =>
      test.statements
        .splice(0)
        .map((text) => /layover\.(\w+)/.exec(text)?.[1] ?? text)
        .filter((name) => name !== "read_clock"),
  };
}

/** A request that the shop has signed. */
export function signed(id: string, body: string, seconds?: number): RequestInit {
  return signedBy({ id, body, secret, ...(seconds !== undefined && { seconds }) });
}
