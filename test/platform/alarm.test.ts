/** The stand-alone alarm: what it keeps, and when it rings. */
import { expect, test } from "vitest";
import type { Distance } from "../../src/http/alarm.ts";
import { mostStanding } from "../../src/platform/alarm/kept.ts";
import { beginning, dayMs, hourMs, minuteMs, PlayedAlarm } from "./played-alarm.ts";

test("it rings once for what several processes have armed for the same minute, a little after the instant", async () => {
  const played = new PlayedAlarm();
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
  const played = new PlayedAlarm();
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
  const played = new PlayedAlarm();
  await played.known();
  const before = played.storage.writes;
  await played.pass(6 * hourMs - minuteMs);
  expect(played.rings).toEqual([]);
  expect(played.storage.writes).toBe(before);
  await played.pass(2 * minuteMs);
  expect(played.rings.map(([, message]) => message)).toEqual([{ readyUntil: 0, isSweep: true }]);
});

test("it rings again at once where something due was left, and only until nothing is", async () => {
  const played = new PlayedAlarm();
  await played.known();
  const answers = [true, true, false].map((more) => Response.json({ more }));
  played.answer = () => answers.shift() ?? Response.json({ more: false });
  await played.arm([[minuteMs, 0]]);
  await played.pass(5 * minuteMs);
  expect(played.seconds()).toEqual([73, 74, 75]);
});

test("the cron trigger has an object set its alarm again, if the runtime has dropped it", async () => {
  const played = new PlayedAlarm();
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
  const played = new PlayedAlarm();
  await played.known();
  const at = (index: number): Distance => [hourMs + index * minuteMs, 0];
  for (let from = 0; from < mostStanding; from += 1_000)
    await played.arm(Array.from({ length: 1_000 }, (_, index) => at(from + index)));
  expect(await played.status()).toMatchObject({ standing: mostStanding });
  await played.arm([at(mostStanding), [50 * minuteMs, 0]]);
  const { standing, nextRingAt } = await played.status();
  expect([standing, nextRingAt]).toEqual([mostStanding, beginning + 10_000 + 50 * minuteMs + 3_000]);

  const far = new PlayedAlarm();
  await far.known();
  await far.arm([[100 * 365 * dayMs, 0]]);
  await far.pass(364 * dayMs);
  expect(far.rings.every(([, { isSweep }]) => isSweep)).toBe(true);
  await far.pass(dayMs + minuteMs);
  expect(far.rings.some(([, { isSweep }]) => !isSweep)).toBe(true);
});
