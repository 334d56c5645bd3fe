/** Whom the stand-alone alarm refuses: only who has signed with the key of an app may arm for it or read its status. */
import { expect, test } from "vitest";
import { type ArmOrder, armRequest, statusRequest } from "../../src/http/alarm.ts";
import { DerivedKeys } from "../../src/http/secrets.ts";
import { secrets } from "./a-worker.ts";
import { beginning, key, others, PlayedAlarm } from "./played-alarm.ts";

test("while a key is replaced, both count", async () => {
  const played = new PlayedAlarm();
  played.env["ORDERS_KEY"] = others.keyFor("alarm");
  expect(await played.arm([])).toBe(401);
  played.env["ORDERS_KEY_OLD"] = key;
  expect(await played.arm([])).toBe(204);
});

const nowMs = beginning;
const order: ArmOrder = { arm: [[0, 0]], deployment: "one" };
const good = { secrets, app: "orders", nowMs };

test.each<[string, string, RequestInit, number]>([
  ["nothing is signed", "/apps/orders/arm", { method: "POST", body: JSON.stringify(order) }, 401],
  ["another app has signed", "/apps/orders/arm", armRequest(order, { ...good, secrets: others }), 401],
  ["it is signed for another app", "/apps/orders/arm", armRequest(order, { ...good, app: "shop" }), 401],
  ["the app is not known", "/apps/nobody/arm", armRequest(order, { ...good, app: "nobody" }), 401],
  ["the signature is old", "/apps/orders/arm", armRequest(order, { ...good, nowMs: nowMs - 301_000 }), 401],
  ["a status is signed, not an order", "/apps/orders/arm", { ...statusRequest(good), method: "POST", body: "" }, 401],
  ["the body is another one", "/apps/orders/arm", { ...armRequest(order, good), body: '{"arm":[]}' }, 401],
  ["the body is too large", "/apps/orders/arm", { ...armRequest(order, good), body: "x".repeat(65_537) }, 413],
  ["it is no order", "/apps/orders/arm", armRequest({ ...order, arm: [[Number.NaN, 0]] }, good), 400],
  ["there are too many", "/apps/orders/arm", armRequest({ ...order, arm: Array(1_001).fill([0, 0]) }, good), 400],
  ["nobody has signed for the status", "/apps/orders/status", {}, 401],
  [
    "an order is signed, not the status",
    "/apps/orders/status",
    { headers: armRequest(order, good).headers ?? {} },
    401,
  ],
  ["the method is another one", "/apps/orders/arm", { method: "PUT" }, 405],
  ["there is no such path", "/apps/orders/ring", { method: "POST" }, 404],
])("nothing is stored where %s", async (_, path, init, status) => {
  const played = new PlayedAlarm();
  expect((await played.request(path, init)).status).toBe(status);
  expect(played.asked).toBe(0);
  expect(played.storage.writes).toBe(0);
});

test("a stranger does not learn which apps there are", async () => {
  const played = new PlayedAlarm();
  const forged = { secrets: others, nowMs };
  for (const [verb, initOf] of [
    ["arm", () => ({ method: "POST", body: JSON.stringify(order) })],
    ["arm", (app: string) => armRequest(order, { ...forged, app })],
    ["arm", (app: string) => armRequest(order, { ...forged, app, nowMs: nowMs - 301_000 })],
    ["arm", (app: string) => ({ ...armRequest(order, { ...forged, app }), body: "x".repeat(65_537) })],
    ["status", () => ({})],
    ["status", (app: string) => statusRequest({ ...forged, app })],
  ] as const) {
    const answers = ["orders", "nobody"].map(async (app) => {
      const response = await played.request(`/apps/${app}/${verb}`, initOf(app));
      return [response.status, [...response.headers], await response.text()];
    });
    const [known, unknown] = await Promise.all(answers);
    expect(unknown).toEqual(known);
  }
});

test("a key counts for the alarm alone, and a text that is no key is refused", () => {
  const keys = new DerivedKeys("alarm", [key]);
  expect(keys.verify("alarm", "text", secrets.sign("alarm", "text"))).toBe(true);
  expect(keys.verify("api key", "text", secrets.sign("api key", "text"))).toBe(false);
  expect(() => keys.sign("api key", "text")).toThrow(/no key of the purpose/);
  expect(() => new DerivedKeys("alarm", [`${key}=`])).toThrow(/no key that layover has made/);
  expect(() => new DerivedKeys("alarm", [undefined, ""])).toThrow(/there is no key/);
});
