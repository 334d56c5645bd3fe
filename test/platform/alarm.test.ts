/** The stand-alone alarm: what it keeps, how it rings at an app that is down or gone, and whom it refuses. */
import { AppAlarm } from "layover/alarm";
import { expect, test } from "vitest";
import {
  type AlarmStatus,
  type ArmOrder,
  armRequest,
  type Distance,
  type RingMessage,
  readRing,
  statusRequest,
  tickPath,
} from "../../src/http/alarm.ts";
import { DerivedKeys, Secrets } from "../../src/http/secrets.ts";
import { mostStanding } from "../../src/platform/alarm/kept.ts";
import { type AlarmEnv, alarmWorker } from "../../src/platform/alarm/worker.ts";
import { SkewedTimers } from "../engine/timers.ts";
import { RingingStorage } from "../idle/ringing-storage.ts";
import { secrets } from "./a-worker.ts";

const beginning = Date.UTC(2026, 0, 1, 12);
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const key = secrets.keyFor("alarm");
const others = new Secrets(["YW5vdGhlciBzZWNyZXQsIHdoaWNoIGlzIGFsc28gbG9uZyBlbm91Z2ghISE"]);

class Played {
  time = 0;
  readonly host = new SkewedTimers({ time: () => this.time, beginning });
  readonly storage = new RingingStorage(this.host, () => void this.object.alarm());
  /** When it rang, in seconds from the beginning, and for what. */
  readonly rings: (readonly [second: number, message: RingMessage])[] = [];
  /** What the objects were asked. */
  asked = 0;
  answer: () => Response | Promise<Response> = () => Response.json({ more: false });
  env: AlarmEnv & Record<string, unknown> = {
    APPS: { orders: "https://orders.example/prefix/", shop: "https://shop.example" },
    ORDERS_KEY: key,
    SHOP_KEY: others.keyFor("alarm"),
    ALARM: {
      getByName: () => ({
        fetch: (url, init) => {
          this.asked += 1;
          return this.object.fetch(new Request(url, init));
        },
      }),
    },
  };
  readonly worker = alarmWorker(this.host);
  object = this.#object();

  #object(): AppAlarm {
    return new AppAlarm({ storage: this.storage }, this.env, {
      host: this.host,
      send: async (url, init) => {
        expect(String(url)).toBe(`https://orders.example/prefix${tickPath}`);
        expect(init?.redirect).toBe("manual");
        const request = new Request(String(url), init);
        const message = await readRing(request, { secrets, app: "orders", nowMs: this.host.now() });
        this.rings.push([this.time / 1_000, message]);
        const { promise, reject } = Promise.withResolvers<never>();
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
        return await Promise.race([this.answer(), promise]);
      },
    });
  }

  configure(APPS: Record<string, string>): void {
    this.env = { ...this.env, APPS };
    this.evict();
  }

  /** The object is gone from memory, and comes back. */
  evict(): void {
    this.object = this.#object();
  }

  request(path: string, init: RequestInit): Promise<Response> {
    return this.worker.fetch(new Request(`https://alarm.example${path}`, init), this.env);
  }

  async arm(arm: readonly Distance[], deployment = "one"): Promise<number> {
    return (await this.request("/apps/orders/arm", this.#signed({ arm, deployment }))).status;
  }

  /** Arms for an app that is known already, so that no ring is due to its code. */
  async known(): Promise<void> {
    await this.arm([]);
    await this.pass(10_000);
    this.rings.length = 0;
  }

  async status(): Promise<AlarmStatus> {
    const request = statusRequest({ secrets, app: "orders", nowMs: this.host.now() });
    return (await (await this.request("/apps/orders/status", request)).json()) as AlarmStatus;
  }

  #signed(order: ArmOrder): RequestInit {
    return armRequest(order, { secrets, app: "orders", nowMs: this.host.now() });
  }

  async pass(ms: number): Promise<void> {
    const until = this.time + ms;
    for (;;) {
      for (let round = 0; round < 10; round += 1) await new Promise((resolve) => setImmediate(resolve));
      const { next } = this.host;
      if (next === undefined || next > until) break;
      this.time = Math.max(this.time, next);
      while (this.host.fire());
    }
    this.time = until;
  }

  seconds(): readonly number[] {
    return this.rings.splice(0).map(([second]) => second);
  }
}

test("it rings once for what several processes have armed for the same minute, a little after the instant", async () => {
  const played = new Played();
  await played.known();
  expect(await played.arm([[minuteMs, 5]])).toBe(204);
  await played.pass(800);
  await played.arm([[minuteMs - 1_000, 7]]);
  await played.arm([[3 * minuteMs, 9]]);
  await played.pass(10 * minuteMs);
  const [first, second, ...more] = played.rings;
  expect(first).toEqual([73, { readyUntil: 7, isSweep: false }]);
  expect(second?.[1]).toEqual({ readyUntil: 9, isSweep: false });
  expect(more).toEqual([]);
});

test("it keeps what is armed through an eviction of the object, and rings soon for a code that is new", async () => {
  const played = new Played();
  await played.arm([[hourMs, 5]], "one");
  await played.pass(minuteMs);
  expect(played.seconds()).toEqual([3]);
  played.evict();
  await played.arm([], "two");
  await played.arm([], "one");
  await played.pass(2 * hourMs);
  expect(played.seconds()).toEqual([63, 3_603]);
});

test("while nothing is due it rings only for a sweep, six hours after the last ring", async () => {
  const played = new Played();
  await played.known();
  const before = played.storage.writes;
  await played.pass(6 * hourMs - minuteMs);
  expect(played.rings).toEqual([]);
  expect(played.storage.writes).toBe(before);
  await played.pass(2 * minuteMs);
  expect(played.rings.map(([, message]) => message)).toEqual([{ readyUntil: 0, isSweep: true }]);
});

test("it rings again at once where something due was left, and only until nothing is", async () => {
  const played = new Played();
  await played.known();
  const answers = [true, true, false].map((more) => Response.json({ more }));
  played.answer = () => answers.shift() ?? Response.json({ more: false });
  await played.arm([[minuteMs, 0]]);
  await played.pass(5 * minuteMs);
  expect(played.seconds()).toEqual([73, 74, 75]);
});

test("an app that is down is rung after 30 s, 1, 2, 5 and 15 minutes, then each hour, and goes on when it is back", async () => {
  const played = new Played();
  await played.known();
  played.answer = () => new Response(null, { status: 503 });
  await played.arm([[minuteMs, 5]]);
  await played.pass(4 * hourMs);
  const seconds = played.seconds();
  const pauses = seconds.slice(1).map((second, index) => second - (seconds[index] ?? 0));
  expect(pauses).toEqual([30, 60, 120, 300, 900, 3_600, 3_600, 3_600]);
  expect(await played.status()).toMatchObject({ failures: 9, lastFailure: "it has answered 503", standing: 1 });
  played.answer = () => Response.json({ more: false });
  await played.pass(hourMs);
  expect(played.rings.map(([, message]) => message)).toEqual([{ readyUntil: 5, isSweep: false }]);
  expect(await played.status()).toMatchObject({ failures: 0, lastFailure: null, standing: 0, parkedAt: null });
});

test.each<[string, () => Response | Promise<Response>]>([
  ["cannot be reached", () => Promise.reject(new TypeError("fetch failed"))],
  ["redirects", () => new Response(null, { status: 302, headers: { location: "https://elsewhere.example" } })],
  ["answers a page", () => new Response("<html>".repeat(10_000))],
  ["answers without what a tick says", () => Response.json({})],
])("an app that %s is down as well", async (_, answer) => {
  const played = new Played();
  await played.known();
  played.answer = answer;
  await played.arm([[minuteMs, 5]]);
  await played.pass(2 * minuteMs);
  expect(played.seconds()).toEqual([73, 103]);
});

test("an app that never answers is given up after 45 s, and what was armed meanwhile rings after that", async () => {
  const played = new Played();
  await played.known();
  played.answer = () => new Promise(() => {});
  await played.arm([[minuteMs, 5]]);
  await played.pass(minuteMs + 10_000);
  await played.arm([[1_000, 6]]);
  expect(played.storage.alarmAt).toBeNull(); // nothing is written that the end of the ring would change
  played.answer = () => Response.json({ more: false });
  await played.pass(2 * minuteMs);
  expect(played.rings).toEqual([
    [73, { readyUntil: 5, isSweep: false }],
    [148, { readyUntil: 6, isSweep: false }],
  ]);
});

test("an app that arms after one ring that failed is rung at once, since it may be a new process", async () => {
  const played = new Played();
  await played.known();
  played.answer = () => Promise.reject(new TypeError("fetch failed"));
  await played.arm([[0, 5]]);
  await played.pass(5_000);
  played.answer = () => Response.json({ more: false });
  await played.arm([]);
  await played.pass(minuteMs);
  expect(played.seconds()).toEqual([13, 18]);
});

test("an app that arms while it is down is rung within 30 s", async () => {
  const played = new Played();
  await played.known();
  played.answer = () => new Response(null, { status: 500 });
  await played.arm([[0, 5]]);
  await played.pass(2 * hourMs);
  played.rings.length = 0;
  const now = played.time / 1_000;
  await played.arm([[minuteMs, 5]]);
  played.answer = () => Response.json({ more: false });
  await played.pass(5 * minuteMs);
  expect(played.seconds()).toEqual([now + 30, now + 63]);
});

/** An app that is at work for longer than the alarm waits for its answer, and arms the next minute meanwhile. */
function slowly(played: Played, status?: number): Promise<Response> {
  played.host.after(10_000, () => void played.arm([[minuteMs, 5]]));
  const { promise, resolve } = Promise.withResolvers<Response>();
  if (status !== undefined) played.host.after(40_000, () => resolve(new Response(null, { status })));
  return promise;
}

test("an app that arms during a ring is alive: it is rung again 30 s later, however many rings end without an answer", async () => {
  const played = new Played();
  await played.known();
  played.answer = () => slowly(played);
  await played.arm([[minuteMs, 5]]);
  await played.pass(hourMs);
  const seconds = played.seconds();
  const pauses = seconds.slice(1).map((second, index) => second - (seconds[index] ?? 0));
  expect(pauses).toEqual(Array(pauses.length).fill(45 + 30));
  expect(await played.status()).toMatchObject({ lastFailure: "it has not answered in 45 s" });
});

test("an app that arms during each ring is not parked, though its address says 404, or it was down for a week before", async () => {
  const played = new Played();
  await played.known();
  played.answer = () => new Response(null, { status: 500 });
  await played.arm([[minuteMs, 5]]);
  await played.pass(7 * dayMs - hourMs);
  played.answer = () => slowly(played, 404);
  await played.pass(3 * hourMs);
  expect(await played.status()).toMatchObject({ lastFailure: "it has answered 404", parkedAt: null });
});

test.each([404, 410])(
  "an app whose address says %s six times in a row is parked, and revived by what it arms",
  async (status) => {
    const played = new Played();
    await played.known();
    played.answer = () => new Response(null, { status });
    await played.arm([[minuteMs, 5]]);
    await played.pass(3 * dayMs);
    expect(played.seconds()).toEqual([73, 103, 163, 283, 583, 1_483]);
    expect(await played.status()).toMatchObject({ parkedAt: beginning + 1_483_000, nextRingAt: null, standing: 1 });
    played.answer = () => Response.json({ more: false });
    await played.arm([[hourMs, 6]]);
    await played.pass(hourMs + minuteMs);
    expect(played.rings.map(([, { readyUntil }]) => readyUntil)).toEqual([5, 6]);
  },
);

test("a deploy that answers 404 for a moment parks nothing: other answers begin the count anew", async () => {
  const played = new Played();
  await played.known();
  let rings = 0;
  played.answer = () => {
    rings += 1;
    return new Response(null, { status: rings % 5 === 0 ? 502 : 404 });
  };
  await played.arm([[0, 5]]);
  await played.pass(2 * dayMs);
  expect(await played.status()).toMatchObject({ parkedAt: null });
});

test("an app that was down for a week is parked", async () => {
  const played = new Played();
  await played.known();
  played.answer = () => new Response(null, { status: 500 });
  await played.arm([[0, 5]]);
  await played.pass(6 * dayMs);
  expect(await played.status()).toMatchObject({ parkedAt: null });
  await played.pass(2 * dayMs);
  expect((await played.status()).parkedAt).not.toBeNull();
});

test("the cron trigger has an object set its alarm again, if the runtime has dropped it", async () => {
  const played = new Played();
  await played.known();
  await played.arm([[minuteMs, 5]]);
  await played.storage.dropAlarm();
  await played.pass(10 * minuteMs);
  expect(played.rings).toEqual([]);
  await played.worker.scheduled({}, { ...played.env, APPS: { orders: "https://orders.example/prefix" } });
  await played.pass(1_000);
  expect(played.rings).toHaveLength(1);
});

test("beyond 10,000 instants an earlier one serves, and an instant beyond a year rings then", async () => {
  const played = new Played();
  await played.known();
  const at = (index: number): Distance => [hourMs + index * minuteMs, 0];
  for (let from = 0; from < mostStanding; from += 1_000)
    await played.arm(Array.from({ length: 1_000 }, (_, index) => at(from + index)));
  expect(await played.status()).toMatchObject({ standing: mostStanding });
  await played.arm([at(mostStanding), [50 * minuteMs, 0]]);
  const { standing, nextRingAt } = await played.status();
  expect([standing, nextRingAt]).toEqual([mostStanding, beginning + 10_000 + 50 * minuteMs + 3_000]);

  const far = new Played();
  await far.known();
  await far.arm([[100 * 365 * dayMs, 0]]);
  await far.pass(364 * dayMs);
  expect(far.rings.every(([, { isSweep }]) => isSweep)).toBe(true);
  await far.pass(dayMs + minuteMs);
  expect(far.rings.some(([, { isSweep }]) => !isSweep)).toBe(true);
});

test("an app that the configuration names no more is parked, and nothing is sent anywhere", async () => {
  const played = new Played();
  await played.known();
  await played.arm([[minuteMs, 5]]);
  played.configure({ shop: "https://shop.example" });
  await played.pass(dayMs);
  expect(played.rings).toEqual([]);
  played.configure({ orders: "https://orders.example/prefix" });
  expect((await played.status()).parkedAt).not.toBeNull();
});

test("while a key is replaced, both count", async () => {
  const played = new Played();
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
  const played = new Played();
  expect((await played.request(path, init)).status).toBe(status);
  expect(played.asked).toBe(0);
  expect(played.storage.writes).toBe(0);
});

test("a stranger does not learn which apps there are", async () => {
  const played = new Played();
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
