/** Texts that Postgres cannot store. Values may hold them; where they name something, the request is refused. */
import { start } from "layover/webhooks";
import { describe, expect, it, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { anApp, anything, authorized, bare, json } from "./an-app.ts";
import { anAppWith, aShop } from "./webhooks/a-webhook.ts";

const database = testDatabase();
const refused = [
  400,
  { code: "invalid_request", detail: expect.stringContaining("character that Postgres cannot store") },
];
const looked = { from: 1, to: 2, epoch: 0, turn: 1, position: 0, lastMail: 0, signature: "0123456789abcdef" };
const schedule = { name: "digest", workflow: "bare", cron: "0 3 * * *" };

describe.each([
  ["U+0000", "a\u0000b"],
  ["half of a surrogate pair", "a\ud800b"],
])("%s", (_, text) => {
  test.each<[door: string, body: object]>([
    ["/v1/runs/RUN/upgrade", { ...looked, signature: text }],
    ["/v1/runs/RUN/restart", { from: text }],
    ["/v1/runs/RUN/fork", { from: text }],
    ["/v1/runs/RUN/retry", { results: { [text]: 1 } }],
    ["/v1/runs/RUN/retry", { reason: text }],
    ["/v1/operations/restart", { filter: { workflow: "bare", status: "completed" }, from: text }],
    ["/v1/schedules", { ...schedule, cron: text }],
    ["/v1/schedules", { ...schedule, timezone: text }],
  ])("is refused in the body of POST %s: %j", async (door, body) => {
    const { app, client, errors } = anApp(database.query);
    const { runId } = await client.start(bare);
    const answer = await app.request(door.replace("RUN", runId), json(body));
    expect([answer.status, await answer.json()]).toMatchObject(refused);
    expect(errors).toEqual([]);
  });

  it("is refused where somebody says who has a delivery carried out again, and why", async () => {
    const { deliver, request, errors } = anAppWith(
      database.query,
      aShop(({ event }) => start(anything, event)),
    );
    await deliver("d1", { type: text, order: "o1" });
    for (const body of [{ by: text }, { reason: text }]) {
      const { status, body: problem } = await request("/v1/webhooks/shop/deliveries/d1/replay", json(body));
      expect([status, problem]).toMatchObject(refused);
    }
    expect(errors).toEqual([]);
  });
});

test.each([
  "/v1/schedules/a%00b",
  "/v1/schedules?workflow=a%00b",
  "/v1/schedules?cursor=a%00b",
  "/v1/deliveries?webhook=a%00b",
  "/v1/deliveries?cursor=1.1.shop.a%00b",
  "/v1/webhooks/shop/deliveries/a%00b",
  "/v1/webhooks/a%00b/deliveries/d1",
  "/v1/runs/RUN/callbacks/a%00b",
])("U+0000 is refused in GET %s", async (path) => {
  const { client, request, errors } = anAppWith(
    database.query,
    aShop(({ event }) => start(anything, event)),
  );
  const { runId } = await client.start(bare);
  const { status, body } = await request(path.replace("RUN", runId), { headers: authorized });
  expect([status, body]).toMatchObject(refused);
  expect(errors).toEqual([]);
});
