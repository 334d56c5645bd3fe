/** A webhook that cannot be mounted: its server says so when it is made. */
import { randomUUID } from "node:crypto";
import { serve as serveOnCloudflare } from "layover/cloudflare";
import { serve as serveByFetch } from "layover/fetch";
import { serve as serveOnLambda } from "layover/lambda";
import { serve as serveOnNode } from "layover/node";
import { ignore, standardWebhooks, type Webhook, webhook } from "layover/webhooks";
import { describe, expect, test } from "vitest";
import { checkWebhooks } from "../../../src/http/webhooks/mount.ts";
import { testDatabase } from "../../postgres/database.ts";
import { aShop, type Env } from "./a-webhook.ts";
import { shop } from "./shop.ts";

const database = testDatabase({ perTest: true });

describe("a webhook that cannot be mounted is told when its server is made, not at the first request", () => {
  const asking = webhook<Env>({
    name: "asking",
    verify: standardWebhooks<Env>(({ SECRET }) => SECRET),
    respond: "before",
    on: () => ignore(""),
  });
  const noQueue = "this host has no queue";

  test.each<[string, readonly Webhook<Env>[], string]>([
    ["two of one name", [shop, shop], "is that of two webhooks"],
    ["one that answers before, without a queue", [asking], `the webhook asking answers before: ${noQueue}`],
    ["one that is none", [Object({ name: "odd" })], '"odd" is no webhook'],
  ])("%s", (_, webhooks, message) => {
    expect(() => checkWebhooks(webhooks, { noQueue })).toThrow(message);
    const options = { workflows: [], webhooks, secrets: ["x"], database: () => database.query, publicUrl: () => "" };
    // Node has no queue, and neither has a Worker without the option.
    expect(() => serveOnCloudflare(Object({ ...options, secrets: () => [] }))).toThrow(message.split(":")[0]);
    expect(() => serveByFetch(Object({ ...options, secrets: () => [] }))).toThrow(message.split(":")[0]);
    return expect(serveOnNode(Object({ ...options, secrets: [randomUUID().repeat(2)], port: 0 }))).rejects.toThrow(
      message.split(":")[0],
    );
  });

  test("or on AWS, when its module is loaded, where there is a queue", () => {
    const served = (webhooks: readonly Webhook<Env>[]) =>
      serveOnLambda(Object({ workflows: [], webhooks, database: () => database.query }));
    expect(() => served([shop, shop])).toThrow("is that of two webhooks");
    expect(() => served([asking])).not.toThrow();
  });

  test("and neither is one whose name is no part of an address", () => {
    expect(() => aShop(() => ignore(""), { name: "a/b" })).toThrow("is no part of an address");
  });
});
