/** What a process makes of the times that answers tell. */
import { expect, test } from "vitest";
import { DatabaseClock } from "../../src/postgres/database-clock.ts";

const noon = Date.UTC(2026, 0, 1, 12);

function aClock() {
  let time = 0;
  const clock = new DatabaseClock({ monotonic: () => time, after: () => () => {} });
  clock.learn(noon);
  const pass = (ms: number) => {
    time += ms;
    return time;
  };
  return { clock, pass };
}

test("the database's time goes on by the host's clock", () => {
  const { clock, pass } = aClock();
  pass(1_234);
  expect(clock.now()).toBe(noon + 1_234);
});

test("an answer that fits what is known changes nothing, however long it was under way", () => {
  const { clock, pass } = aClock();
  const sentAt = pass(1_000);
  pass(60_000);
  expect(clock.learn(noon + 1_500, sentAt)).toBe(false);
  expect(clock.now()).toBe(noon + 61_000);
});

test("clocks that part slowly are followed, and that is no step", () => {
  const { clock, pass } = aClock();
  pass(100_000);
  expect(clock.learn(noon + 100_900)).toBe(false);
  expect(clock.now()).toBe(noon + 100_900);
  pass(100_000);
  expect(clock.learn(noon + 200_000)).toBe(false);
  expect(clock.now()).toBe(noon + 200_000);
});

test.each([
  ["back", -1_001],
  ["forward", 1_001],
])("a clock that was set %s by more than a second is followed, and that is a step", (_, step) => {
  const { clock, pass } = aClock();
  pass(5_000);
  expect(clock.learn(noon + 5_000 + step)).toBe(true);
  expect(clock.now()).toBe(noon + 5_000 + step);
});

test("a clock that was set back remembers up to which instant runs may be due that were in motion", () => {
  const { clock, pass } = aClock();
  pass(5_000);
  clock.learn(noon + 65_000);
  expect(clock.readyUntil).toBe(0);
  pass(5_000);
  clock.learn(noon);
  expect(clock.readyUntil).toBe(noon + 190_000);
  pass(5_000);
  clock.learn(noon - 60_000);
  expect(clock.readyUntil).toBe(noon + 190_000);
});

test("an answer to a question that was sent before a step was noticed tells nothing", () => {
  const { clock, pass } = aClock();
  const sentAt = pass(1_000);
  pass(1_000);
  expect(clock.learn(noon - 60_000)).toBe(true);
  pass(1_000);
  expect(clock.learn(noon + 1_500, sentAt)).toBe(false);
  expect(clock.now()).toBe(noon - 59_000);
});
