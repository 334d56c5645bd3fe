/** The answers to a sender that asks before it delivers, and the headers that an answer may have. */
import { answer, handshake, hmac, ignore, type SenderAnswer, standardWebhooks, start, webhook } from "layover/webhooks";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../../postgres/database.ts";
import { anything } from "../an-app.ts";
import { anAppWith, aShop, type Env, signed } from "./a-webhook.ts";
import { done, runs, shown } from "./shop.ts";

const database = testDatabase({ perTest: true });

describe("a sender that asks first by GET", () => {
  const asking = webhook<Env>({
    name: "shop",
    verify: handshake(
      standardWebhooks<Env>(({ SECRET }) => SECRET),
      ({ url }) => {
        const challenge = new URL(url).searchParams.get("challenge");
        return challenge === null ? undefined : { body: challenge };
      },
    ),
    on: () => start(anything, 1),
  });

  test("gets its answer without SQL, and nothing else comes of a GET", async () => {
    const app = anAppWith(database.query, asking);
    expect(await app.request("/webhooks/shop?challenge=abc", {})).toEqual({ status: 200, body: "abc" });
    expect((await app.request("/webhooks/shop", {})).status).toBe(401);
    const { headers } = signed("d1", "");
    expect((await app.request("/webhooks/shop", Object({ headers }))).status).toBe(401);
    expect(app.statements).toEqual([]);
    expect(await app.deliver("d1", {})).toEqual(done("d1"));
  });
});

describe("a sender that asks first, and wants something back in a header", () => {
  const asking = (answered: SenderAnswer | undefined) =>
    webhook<Env>({
      name: "asana",
      verify: handshake(hmac<Env>({ header: "x-hook-signature", secret: () => "s" }), ({ headers }) => {
        const secret = headers.get("x-hook-secret");
        return (
          answered ?? (secret === null ? undefined : { status: 204, headers: { "x-hook-secret": secret }, body: "" })
        );
      }),
      on: () => ignore("not ours"),
    });
  const asked = { method: "POST", body: "", headers: { "x-hook-secret": "b537207f20cbfa02357cf448134da559" } };

  test("gets it, with a status that has no body", async () => {
    const app = anAppWith(database.query, asking(undefined));
    const response = await app.app.request("/webhooks/asana", asked);
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(response.headers.get("x-hook-secret")).toBe("b537207f20cbfa02357cf448134da559");
    expect(response.headers.get("content-type")).toBeNull();
    expect(app.statements).toEqual([]);
  });

  test.each<[string, SenderAnswer]>([
    ["no name of a header", { headers: { "x hook": "1" } }],
    ["not for it to say", { headers: { "Content-Length": "7" } }],
    ["without line breaks", { headers: { "x-hook": "a\nb" } }],
    ["up to 4096 characters", { headers: { "x-hook": "x".repeat(4_097) } }],
    ["Up to 20", { headers: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, ""])) }],
    ["no content type", { type: "text\n" }],
    ["the status 99", { status: 99 }],
    ["no JSON: Do not know how to serialize a BigInt", { body: { total: 7n } }],
    ["no JSON: JSON leaves it out", { body: () => "ok" }],
  ])("cannot be given one that is wrong, and the log says why: %s", async (why, answered) => {
    const app = anAppWith(database.query, asking(answered));
    expect((await app.request("/webhooks/asana", asked)).body).toMatchObject({ status: 500, code: "webhook_failed" });
    expect(app.errors).toMatchObject([{ cause: { message: expect.stringContaining(why) } }]);
  });

  test("is told by `on`, once all is done; an answer that is wrong is a mistake of the code, and nothing is done", async () => {
    const given: SenderAnswer = { headers: { "x-done": "yes" }, body: { ok: true } };
    let answered = given;
    const app = anAppWith(
      database.query,
      aShop(({ event }) => [start(anything, 1, { id: event.order }), answer(answered)]),
    );
    const response = await app.app.request("/webhooks/shop", signed("d1", '{"order":"o1"}'));
    expect([response.headers.get("x-done"), await response.json()]).toEqual(["yes", { ok: true }]);
    answered = { headers: { "x-done": "\n" } };
    expect((await app.deliver("d2", { order: "o2" })).body).toMatchObject({ code: "webhook_failed" });
    expect(await shown(app, "d2")).toMatchObject({ outcome: "failed", reason: expect.stringContaining("x-done") });
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    answered = { body: cycle };
    expect((await app.deliver("d3", { order: "o3" })).body).toMatchObject({ code: "webhook_failed" });
    expect(app.events.at(-1)).toMatchObject({
      kind: "delivery_refused",
      outcome: "failed",
      reason: expect.stringContaining("is no JSON"),
    });
    expect(await runs(app)).toHaveLength(1);
  });
});
