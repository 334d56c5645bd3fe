import { type Request, Response } from "miniflare";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { signed } from "../standard-webhooks.ts";
import { AWorker } from "./a-worker.ts";
import { aStage, completed } from "./worker-stage.ts";
import { referenceWorker } from "./wrangler-bundle.ts";

const database = testDatabase();
const stage = aStage(database);

/** Neon's address, and by the network the local endpoint that takes its place. */
function neonDatabase(): { url: string; answer: (request: Request) => Promise<Response> } {
  const url = new URL(database.url);
  url.host = "ep-quiet-river-a1b2c3.eu-central-1.aws.neon.tech";
  return {
    url: url.href,
    async answer(request) {
      if (request.url !== "https://api.eu-central-1.aws.neon.tech/sql") return new Response(null, { status: 404 });
      const headers = Object.fromEntries(request.headers);
      const answer = await fetch(stage.endpoint.fetchEndpoint, { method: "POST", headers, body: await request.text() });
      return new Response(await answer.text(), { status: answer.status });
    },
  };
}

const input = {
  customer: "Ada",
  amount: 42,
  items: ["lamp", "desk"],
  address: { street: "1 Rose St", city: "London" },
};

test("the Worker of wrangler.toml takes what the shop delivers, in whatever order and however often", async () => {
  const neon = neonDatabase();
  const secret = `whsec_${Buffer.from("a secret of the shop's own").toString("base64")}`;
  const worker = await AWorker.begin({
    self: null,
    bound: { queue: {}, alarm: {} },
    script: referenceWorker(),
    env: { DATABASE_URL: neon.url, SHOP_SECRET: secret },
    outboundService: neon.answer,
  });
  const deliver = async (id: string, event: object, by = secret) => {
    const init = signed({ id, body: JSON.stringify(event), secret: by });
    const response = await fetch(`${worker.url}/webhooks/shop`, init);
    return Object(await response.json()).outcome ?? response.status;
  };
  const moved = { type: "address.changed", id: "o7", address: { street: "2 Oak St", city: "Leeds" } };
  const placed = { type: "order.placed", id: "o7", order: input };
  expect(await deliver("e2", moved)).toBe("done");
  expect(await deliver("e1", placed)).toBe("done");
  expect([await deliver("e1", placed), await deliver("e2", moved)]).toEqual(["duplicate", "duplicate"]);
  expect(await deliver("e3", { type: "order.viewed", id: "o7" })).toBe("ignored");
  expect(await deliver("e5", { ...placed, id: "o8", order: { ...input, amount: "42" } })).toBe("refused");
  expect(await deliver("e6", { type: "address.changed", id: "o7" })).toBe("refused");
  expect(await deliver("e4", placed, `${secret.slice(0, -4)}AAAA`)).toBe(401);
  const approval = () => /http:[\w.:/-]+\/callbacks\/[\w.-]+/.exec(worker.logged.join("\n"))?.[0];
  await expect.poll(approval).toBeDefined();
  await fetch(approval() ?? "", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"ok": true}',
  });
  const { rows } = await database.pool.query("select id from layover.run where user_id = 'o7'");
  expect(rows).toHaveLength(1);
  await expect
    .poll(() => worker.run(rows[0]?.id))
    .toEqual(completed(expect.objectContaining({ address: { street: "2 Oak St", city: "Leeds" } })));
});

test("the Worker of wrangler.toml carries an order from its start to its end", async () => {
  const neon = neonDatabase();
  const worker = await AWorker.begin({
    self: null,
    bound: { queue: {}, alarm: {} },
    script: referenceWorker(),
    env: { DATABASE_URL: neon.url },
    outboundService: neon.answer,
  });
  const runId = await worker.start("order", input, { id: "order-1" });
  await expect.poll(() => worker.run(runId)).toMatchObject({ status: "waiting" });
  const [url = ""] = /http:[\w.:/-]+\/callbacks\/[\w.-]+/.exec(worker.logged.join("\n")) ?? [];
  const headers = { "content-type": "application/json" };
  expect((await fetch(url, { method: "POST", headers, body: '{"ok": true}' })).status).toBe(200);
  const result = expect.objectContaining({
    charge: expect.stringMatching(/^charge_/),
    parcels: [expect.any(String), expect.any(String)],
  });
  await expect.poll(() => worker.run(runId)).toEqual(completed(result));
  expect(await worker.ring()).toBe("ok");
});
