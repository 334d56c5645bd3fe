import { beforeEach, expect, test } from "vitest";
import { minuteOf, minuteRingsAt } from "../../src/core/waking.ts";
import { type AlarmState, Minutes } from "../../src/platform/cloudflare/alarm/minutes.ts";
import { PlayedObject } from "./minute-storage.ts";

const beginning = minuteRingsAt(29_000_000) - 30_000;
const next = minuteOf(beginning);

let now: number;
let object: PlayedObject;
let rung: number[];
/** The instants of the database's clock that its ticks were told. */
let readyUntil: number[];
let errors: string[];
/** What a tick does. */
let tick: () => Promise<boolean>;
let minutes: Minutes;

beforeEach(() => {
  now = beginning;
  object = new PlayedObject();
  rung = [];
  readyUntil = [];
  errors = [];
  tick = async () => true;
  wakeUp();
});

/** The object is evicted, and comes back with nothing but its storage. */
function wakeUp(): void {
  minutes = new Minutes({
    storage: object,
    now: () => now,
    ring: (_, instant) => {
      rung.push(now);
      readyUntil.push(instant);
      return tick();
    },
    onError: (error) => errors.push(String(error)),
  });
}

/** Time passes to the alarm, which rings. */
async function untilAlarm(): Promise<void> {
  if (object.alarmAt === null) throw new Error("no alarm stands");
  now = Math.max(now, object.alarmAt);
  object.alarmAt = null;
  await minutes.ring();
}

async function look(): Promise<AlarmState> {
  const answer = await minutes.answer({ look: true });
  if (answer === null) throw new Error("a look is answered");
  return answer;
}

test("an instant's minute rings at or after it, within 62 s", () => {
  for (let ms = 0; ms <= 120_000; ms += 250) {
    const late = minuteRingsAt(minuteOf(beginning + ms)) - (beginning + ms);
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(60_000);
  }
  const wholeMinute = next * 60_000;
  expect(minuteRingsAt(minuteOf(wholeMinute + 500)) - wholeMinute).toBe(2_000); // which a clock a little behind takes for it
});

test("each armed minute rings once, the alarm standing for the earliest", async () => {
  await minutes.answer({ arm: [next + 5] });
  await minutes.answer({ arm: [next + 1, next + 9] });
  expect(object.alarmAt).toBe(minuteRingsAt(next + 1));
  for (let rings = 0; rings < 3; rings += 1) await untilAlarm();
  expect(rung).toEqual([minuteRingsAt(next + 1), minuteRingsAt(next + 5), minuteRingsAt(next + 9)]);
  expect([object.alarmAt, object.entries.size]).toEqual([null, 0]);
});

test("what stands already is armed without a write, and a later minute sets no alarm", async () => {
  await minutes.answer({ arm: [next + 1] });
  expect(object.writes).toBe(2);
  await minutes.answer({ arm: [next + 1, next + 1] });
  expect(object.writes).toBe(2);
  await minutes.answer({ arm: [next + 3] });
  expect(object.writes).toBe(3);
});

test.each([-600_000, 600_000])("a sender whose clock is %d ms off gets the minutes that it means", async (offMs) => {
  await minutes.answer({ arm: [minuteOf(now + offMs + 301_000)], sentAt: now + offMs });
  const ringing = now + 301_000;
  await untilAlarm();
  expect(now).toBeGreaterThanOrEqual(ringing);
  expect(now).toBeLessThanOrEqual(ringing + 124_000);
});

test("one whose clock is a little behind is rung for as much too early, and a minute later, as the tick asks", async () => {
  const offMs = -1_900;
  const meant = minuteRingsAt(next + 1) - offMs;
  const arm = async () => void (await minutes.answer({ arm: [minuteOf(meant + offMs)], sentAt: now + offMs }));
  await arm();
  tick = async () => {
    if (now < meant) await arm(); // it has found what is due next
    return true;
  };
  await untilAlarm();
  expect(now).toBe(meant + offMs);
  await untilAlarm();
  expect(now).toBe(meant + offMs + 60_000);
  expect([rung.length, object.alarmAt]).toEqual([2, null]);
});

test.each([0, 1_900, -1_900, 600_000, -600_000])(
  "its tick is told the database's time at which it rings, as the sender meant it, whose clock is %d ms off",
  async (offMs) => {
    const aheadMs = 7_000_000;
    const meant = minuteRingsAt(next + 2) + offMs;
    await minutes.answer({ arm: [minuteOf(meant)], sentAt: now + offMs, aheadMs });
    await untilAlarm();
    expect(readyUntil[0]).toBeGreaterThanOrEqual(meant + aheadMs);
    expect(readyUntil[0]).toBeLessThan(meant + aheadMs + 62_000);
  },
);

test("its tick is told the latest time of several minutes, and of a database's clock that was set ahead meanwhile", async () => {
  await minutes.answer({ arm: [next, next + 1], sentAt: now, aheadMs: 1_000 });
  const { writes } = object;
  await minutes.answer({ arm: [next + 1], sentAt: now, aheadMs: 1_900 });
  await minutes.answer({ arm: [next + 1], sentAt: now, aheadMs: -300_000 });
  expect(object.writes).toBe(writes);
  await minutes.answer({ arm: [next], sentAt: now, aheadMs: 301_000 });
  now = minuteRingsAt(next + 1);
  await untilAlarm();
  expect(readyUntil).toEqual([minuteRingsAt(next) + 303_000]);
});

test("its tick is told of a minute that an earlier release has armed", async () => {
  await minutes.answer({ arm: [next] });
  object.entries.set(`minute/00${next}`, 1);
  await untilAlarm();
  expect(readyUntil).toEqual([1]);
});

test("hundreds of minutes are armed at once, and a ring that comes late ends all that are over", async () => {
  await minutes.answer({ arm: Array.from({ length: 300 }, (_, index) => next + index) });
  now = minuteRingsAt(next + 280);
  await untilAlarm();
  expect([rung.length, object.entries.size, object.alarmAt]).toEqual([1, 19, minuteRingsAt(next + 281)]);
});

test("a minute that has begun to ring is armed as the next one, since its tick may have looked already", async () => {
  await minutes.answer({ arm: [next] });
  tick = async () => {
    await minutes.answer({ arm: [next] });
    return true;
  };
  await untilAlarm();
  expect(object.alarmAt).toBe(minuteRingsAt(next + 1));
  tick = async () => true;
  await untilAlarm();
  expect(rung).toHaveLength(2);
});

test("a tick that ran other code than was noted is had again after 30 s, and its minute is kept until one ran that", async () => {
  await minutes.answer({ arm: [next] });
  tick = async () => false;
  for (let fails = 0; fails < 10; fails += 1) await untilAlarm();
  expect(object.alarmAt).toBe(minuteRingsAt(next) + 10 * 30_000);
  tick = async () => true;
  await untilAlarm();
  expect([rung.length, object.entries.size, object.alarmAt]).toEqual([11, 0, null]);
});

test("an object that nobody looks after gives a minute up, once ten minutes of ticks ended well", async () => {
  await minutes.answer({ arm: [next] });
  const fails = async () => Promise.reject(new Error("no database"));
  tick = async () => false;
  for (let rings = 0; rings < 20; rings += 1) await untilAlarm();
  tick = fails;
  for (let rings = 0; rings < 20; rings += 1) await untilAlarm();
  expect(object.alarmAt).toBe(minuteRingsAt(next) + 40 * 30_000);
  tick = async () => false;
  await untilAlarm();
  expect([rung.length, object.entries.size, object.alarmAt]).toEqual([41, 0, null]);
});

test("a tick that throws, and a storage that fails, are reported, and the alarm is set again", async () => {
  await minutes.answer({ arm: [next] });
  tick = async () => {
    throw new Error("a bug");
  };
  await untilAlarm();
  tick = async () => true;
  object.broken.add("delete");
  await untilAlarm();
  object.broken.add("list");
  await untilAlarm();
  expect(errors).toEqual(["Error: a bug", "Error: the storage fails: delete", "Error: the storage fails: list"]);
  await untilAlarm();
  expect([object.entries.size, object.alarmAt]).toEqual([0, null]);
});

test("an object that is evicted amid a tick keeps the minute, and whoever looks sees that it is overdue", async () => {
  await minutes.answer({ arm: [next] });
  tick = () => new Promise(() => {});
  now = minuteRingsAt(next);
  object.alarmAt = null;
  void minutes.ring();
  await expect.poll(() => rung).toHaveLength(1);
  wakeUp(); // and the runtime has dropped its alarm
  now += 44_999;
  expect(await look()).toMatchObject({ isOverdue: false });
  now += 1;
  expect(await look()).toMatchObject({ isOverdue: true, now });
});

test("an alarm that is dropped is overdue at the next whole minute, two minutes after its instants at most", async () => {
  await minutes.answer({ arm: [next] });
  const earliest = minuteRingsAt(next - 1) + 1;
  expect(minuteOf(earliest)).toBe(next);
  object.alarmAt = null;
  now = (next + 1) * 60_000;
  expect(now - earliest).toBeLessThanOrEqual(120_000);
  expect(await look()).toMatchObject({ isOverdue: true });
});

test("a minute that somebody else has ticked for is over, and what was armed meanwhile is not", async () => {
  await minutes.answer({ arm: [next, next + 10] });
  object.alarmAt = null;
  now = minuteRingsAt(next) + 90_000;
  const { now: through } = await look();
  await minutes.answer({ arm: [next] }); // it counts as the next one to come
  await minutes.answer({ note: { through } });
  expect([...object.entries.keys()]).toHaveLength(2);
  expect(object.alarmAt).toBe(minuteRingsAt(minuteOf(now + 1)));
  expect(await look()).toMatchObject({ isOverdue: false });
});

test("it is quiet where no minute rings within two", async () => {
  expect(await look()).toMatchObject({ isQuiet: true });
  await minutes.answer({ arm: [minuteOf(now + 181_000)] });
  expect(await look()).toMatchObject({ isQuiet: true });
  await minutes.answer({ arm: [minuteOf(now + 60_000)] });
  expect(await look()).toMatchObject({ isQuiet: false });
});

test("it keeps which deployment ticked first, and when was swept; looking writes nothing", async () => {
  const one = { id: "one", carries: ["order@1"] };
  expect(await look()).toMatchObject({ live: [], sweptAt: null });
  await minutes.answer({ note: { deployed: one, sweptAt: 5 } });
  await minutes.answer({ note: { sweptAt: 7 } });
  wakeUp();
  const { writes } = object;
  expect(await look()).toMatchObject({ live: [one], sweptAt: 7 });
  expect(object.writes).toBe(writes);
});
