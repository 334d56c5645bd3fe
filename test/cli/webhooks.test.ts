/** `layover webhooks`: what senders have delivered, and playing it again. */

import { createHmac } from "node:crypto";
import { hmac, ignore, start, webhook } from "layover/webhooks";
import { afterEach, describe, expect, test } from "vitest";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { layover, type Said, secret, secrets } from "./layover.ts";
import { napWorkflow, orderWorkflow } from "./workflows.ts";

const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });

describe("layover webhooks", { timeout: 60_000 }, () => {
  const database = testDatabase({ isOwn: true });
  let server: NodeServer | undefined;
  /** What the shop's orders cost, as the code reads it. */
  let amount: unknown;

  const shop = webhook({
    name: "shop",
    verify: hmac({ header: "x-shop", secret: ({ SHOP_SECRET }) => SHOP_SECRET, delivery: "x-id" }),
    on: ({ event }) =>
      Object(event).isOurs === false
        ? ignore("not ours")
        : start(orderWorkflow.contract, { amount } as { amount: number }, { id: Object(event).order }),
  });

  async function deploy(webhooks: readonly (typeof shop)[] = [shop]): Promise<void> {
    process.env["SHOP_SECRET"] = "of the shop";
    server = await serve({
      workflows: [napWorkflow, orderWorkflow],
      webhooks,
      database: database.query,
      secrets: [secret],
      port: 0,
      onEvent: () => {},
    });
  }

  async function deliver(id: string, event: unknown): Promise<unknown> {
    const body = JSON.stringify(event);
    const headers = { "x-shop": createHmac("sha256", "of the shop").update(body).digest("hex"), "x-id": id };
    const response = await fetch(`${server?.url}/webhooks/shop`, { method: "POST", headers, body });
    return await response.json();
  }

  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const ask = (...args: readonly string[]): Promise<Said> =>
    layover(args, { env: { LAYOVER_URL: server?.url ?? "", LAYOVER_KEY: key } });

  test("lists and shows what came, and plays again what was refused", async () => {
    await deploy();
    amount = "much";
    expect(await deliver("d1", { order: "o1" })).toEqual({ outcome: "refused", delivery: "d1" });
    const { stdout } = await ask("webhooks", "list", "--refused");
    expect(stdout).toMatch(/WEBHOOK +DELIVERY +OUTCOME +AGE/);
    expect(stdout).toMatch(/shop +d1 +refused .*the input of/);
    const shown = await ask("webhooks", "show", "shop", "d1");
    expect(shown.stdout).toContain("shop d1: refused: the input of");
    expect(shown.stdout).toContain('"order": "o1"');
    amount = 5;
    const replayed = await ask("webhooks", "replay", "--refused", "--by", "ada", "--reason", "the fix is out");
    expect(replayed).toMatchObject({ status: 0, stdout: "shop d1: done\n" });
    expect((await server?.client.list())?.runs).toMatchObject([{ workflow: "order", id: "o1", input: { amount: 5 } }]);
    expect((await ask("webhooks", "show", "shop", "d1")).stdout).toMatch(/Played again .* by ada: the fix is out/);
    expect((await ask("webhooks", "replay", "--refused")).stdout).toBe("No delivery waits for that.\n");
    expect(JSON.parse((await ask("webhooks", "list", "--json")).stdout)).toMatchObject({
      deliveries: [{ id: "d1", outcome: "done" }],
    });
  });

  test("says what is missing or not there", async () => {
    await deploy();
    expect((await ask("webhooks", "replay")).stderr).toContain("Name a webhook and a delivery, or say --refused.");
    expect((await ask("webhooks", "show", "shop", "d9")).stderr).toContain('There is no delivery "d9" to shop');
    expect((await ask("webhooks", "list")).stdout).toBe("There is no such delivery.\n");
    await server?.close();
    await deploy([]);
    expect((await ask("webhooks", "list")).stderr).toContain("This deployment has no webhooks.");
  });
});
