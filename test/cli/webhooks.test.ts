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

describe("layover webhooks", () => {
  const database = testDatabase({ isOwn: true });
  let server: NodeServer | undefined;
  /** What the shop's orders cost, as the code reads it. */
  let amount: unknown;

  const aShop = (name: string) =>
    webhook({
      name,
      verify: hmac({ header: "x-shop", secret: ({ SHOP_SECRET }) => SHOP_SECRET, delivery: "x-id" }),
      on: ({ event }) => {
        const { isOurs, order, breaks } = Object(event);
        if (breaks) throw new Error("no such item");
        if (isOurs === false) return ignore("not ours");
        return start(orderWorkflow.contract, { amount } as { amount: number }, { id: order });
      },
    });
  const shop = aShop("shop");

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

  async function deliver(id: string, event: unknown, name = "shop"): Promise<unknown> {
    const body = JSON.stringify(event);
    const headers = { "x-shop": createHmac("sha256", "of the shop").update(body).digest("hex"), "x-id": id };
    const response = await fetch(`${server?.url}/webhooks/${name}`, { method: "POST", headers, body });
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

  describe("plays again all that were not carried out", () => {
    async function deliverAll(): Promise<void> {
      await database.pool.query("delete from layover.delivery");
      await deploy([shop, aShop("mail")]);
      amount = "much";
      await deliver("d1", { order: "p1" });
      await deliver("d2", { order: "p2" }, "mail");
      await deliver("d3", { order: "p3", breaks: true });
      await deliver("d4", { order: "p4" });
      // The event of d1 is deleted, as it is after a week. No code serves the webhook of d2 any more.
      await database.pool.query("update layover.delivery set event = null, headers = null where id = 'd1'");
      await server?.close();
      await deploy([shop]);
      amount = 5;
    }

    test("and goes on behind those that cannot be played, which it tells with their codes", async () => {
      await deliverAll();
      const { status, stdout, stderr } = await ask("webhooks", "replay", "--refused");
      expect(stdout.trimEnd().split("\n")).toEqual([
        "shop d1: not played, as not_applicable: the event of the delivery d1 is deleted",
        'mail d2: not played, as unknown_delivery: there is no webhook "mail" in this deployment',
        "shop d3: not played, as webhook_failed: the code of the webhook shop threw",
        "shop d4: done",
      ]);
      expect(stderr).toContain("3 of 4 could not be played.\n");
      expect(stderr).toContain("not_applicable: Events are kept for a week. Let the sender deliver it again.\n");
      expect(status).toBe(1);
      expect((await server?.client.list({ workflow: "order" }))?.runs.map(({ id }) => id)).toContain("p4");
    });

    test("and tells the same as JSON", async () => {
      await deliverAll();
      const { status, stdout } = await ask("webhooks", "replay", "--refused", "--json");
      expect(JSON.parse(stdout)).toMatchObject([
        { webhook: "shop", id: "d1", outcome: "not_played", code: "not_applicable" },
        { webhook: "mail", id: "d2", outcome: "not_played", code: "unknown_delivery" },
        { webhook: "shop", id: "d3", outcome: "not_played", code: "webhook_failed" },
        { webhook: "shop", id: "d4", outcome: "done" },
      ]);
      expect(status).toBe(1);
    });
  });

  test("ends with 1 if a delivery is refused again, and as an error does if the one that is named cannot be played", async () => {
    await database.pool.query("delete from layover.delivery");
    await deploy();
    amount = "much";
    await deliver("d1", { order: "q1" });
    const again = await ask("webhooks", "replay", "shop", "d1");
    expect([again.status, again.stdout]).toEqual([1, expect.stringMatching(/^shop d1: refused: the input of/)]);
    await database.pool.query("update layover.delivery set event = null, headers = null");
    const gone = await ask("webhooks", "replay", "shop", "d1");
    expect([gone.status, gone.stdout]).toEqual([1, ""]);
    expect(gone.stderr).toContain("The event of the delivery d1 is deleted.");
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
