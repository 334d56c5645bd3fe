/**
 * The stand-alone alarm at an app that is down, slow, gone or named no more: when it rings again, and when it parks
 * the app.
 */
import { expect, test } from "vitest";
import { beginning, dayMs, hourMs, minuteMs, PlayedAlarm } from "./played-alarm.ts";

test("an app that is down is rung after 30 s, 1, 2, 5 and 15 minutes, then each hour, and goes on when it is back", async () => {
  const played = new PlayedAlarm();
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
  const played = new PlayedAlarm();
  await played.known();
  played.answer = answer;
  await played.arm([[minuteMs, 5]]);
  await played.pass(2 * minuteMs);
  expect(played.seconds()).toEqual([73, 103]);
});

test("an app that never answers is given up after 45 s, and what was armed meanwhile rings after that", async () => {
  const played = new PlayedAlarm();
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
  const played = new PlayedAlarm();
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
  const played = new PlayedAlarm();
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
function slowly(played: PlayedAlarm, status?: number): Promise<Response> {
  played.host.after(10_000, () => void played.arm([[minuteMs, 5]]));
  const { promise, resolve } = Promise.withResolvers<Response>();
  if (status !== undefined) played.host.after(40_000, () => resolve(new Response(null, { status })));
  return promise;
}

test("an app that arms during a ring is alive: it is rung again 30 s later, however many rings end without an answer", async () => {
  const played = new PlayedAlarm();
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
  const played = new PlayedAlarm();
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
    const played = new PlayedAlarm();
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
  const played = new PlayedAlarm();
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
  const played = new PlayedAlarm();
  await played.known();
  played.answer = () => new Response(null, { status: 500 });
  await played.arm([[0, 5]]);
  await played.pass(6 * dayMs);
  expect(await played.status()).toMatchObject({ parkedAt: null });
  await played.pass(2 * dayMs);
  expect((await played.status()).parkedAt).not.toBeNull();
});

test("an app that the configuration names no more is parked, and nothing is sent anywhere", async () => {
  const played = new PlayedAlarm();
  await played.known();
  await played.arm([[minuteMs, 5]]);
  played.configure({ shop: "https://shop.example" });
  await played.pass(dayMs);
  expect(played.rings).toEqual([]);
  played.configure({ orders: "https://orders.example/prefix" });
  expect((await played.status()).parkedAt).not.toBeNull();
});
