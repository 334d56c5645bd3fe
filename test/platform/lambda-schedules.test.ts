/** The alarm on AWS: one schedule for each minute, whoever arms it. */
import { beforeEach, expect, test } from "vitest";
import { minuteMs, minuteRingsAt } from "../../src/core/waking.ts";
import type { OneShot } from "../../src/platform/lambda/aws/schedule.ts";
import { Armed, Schedules } from "../../src/platform/lambda/schedules.ts";
import { SkewedTimers } from "../engine/timers.ts";

const names = {
  tick: "arn:aws:lambda:eu-central-1:123456789012:function:tick",
  scheduleGroup: "orders",
  scheduleRole: "arn:aws:iam::123456789012:role/orders",
  queueArn: "arn:aws:sqs:eu-central-1:123456789012:orders",
};
const noon = Date.UTC(2_026, 0, 1, 12);

let time: number;
let host: SkewedTimers;
/** What EventBridge Scheduler answers, call by call. After that it makes each schedule. */
let answers: ("created" | "exists" | Error)[];
let asked: OneShot[];
let armed: Armed;

beforeEach(() => {
  time = 0;
  host = new SkewedTimers({ time: () => time, beginning: noon });
  answers = [];
  asked = [];
  armed = new Armed();
});

function schedules(given: Partial<typeof names> = {}): Schedules {
  return new Schedules({
    services: {
      schedule: async (schedule) => {
        asked.push(schedule);
        const answer = answers.shift() ?? "created";
        if (typeof answer === "string") return answer;
        throw answer;
      },
    },
    names: { ...names, ...given },
    armed,
    host,
  });
}

/** Arms an instant so many milliseconds ahead. `aheadMs`: how far the database's clock is ahead of the host's. */
async function arm(inMs: number, aheadMs = 0): Promise<void> {
  await schedules().alarm([{ at: host.now() + inMs + aheadMs, inMs }]);
}

/** How many minutes after noon the schedules fire that were asked for. */
function minutes(): readonly number[] {
  return asked.map(({ at }) => (at - noon) / minuteMs);
}

function named(name: string): Error {
  return Object.assign(new Error(name), { name });
}

/** Waits for a promise whose pauses this clock ends. */
async function passing<Result>(work: Promise<Result>): Promise<Result> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  over.catch(() => {});
  while (!isOver) {
    await new Promise((resolve) => setImmediate(resolve));
    time = host.next ?? time;
    host.fire();
  }
  return await work;
}

test("an instant rings in the minute that begins at it or after it", async () => {
  await arm(5 * minuteMs);
  await arm(7 * minuteMs + 5_000);
  expect(minutes()).toEqual([5, 8]);
});

test("several instants of a minute have one schedule, and one that stands is not made again", async () => {
  const at = (inMs: number) => ({ at: host.now() + inMs, inMs });
  await schedules().alarm([at(90_000), at(100_000), at(150_000)]);
  await arm(110_000);
  expect(minutes()).toEqual([2, 3]);
});

test("its tick is told the minute, and until when runs are due by the database's clock", async () => {
  await arm(5 * minuteMs, 30_000);
  const minute = noon / minuteMs + 5;
  const [schedule] = asked;
  expect(JSON.parse(schedule?.input ?? "")).toEqual({ minute, readyUntil: minuteRingsAt(minute) + 32_000 });
  expect(schedule).toMatchObject({ target: names.tick, role: names.scheduleRole, deadLetters: names.queueArn });
});

test("two senders whose clocks differ a little make the same schedule", async () => {
  await arm(5 * minuteMs, 0);
  armed = new Armed();
  await arm(5 * minuteMs, 900);
  expect(new Set(asked.map(({ name }) => name)).size).toBe(1);
});

test("the same minute is armed anew when the database's clock was set", async () => {
  await arm(5 * minuteMs);
  await arm(5 * minuteMs, 180_000);
  expect(minutes()).toEqual([5, 5]);
  expect(new Set(asked.map(({ name }) => name)).size).toBe(2);
});

test.each(["tick", "scheduleRole", "queueArn"] as const)("another %s has schedules of its own", async (which) => {
  await schedules().alarm([{ at: host.now() + minuteMs, inMs: minuteMs }]);
  armed = new Armed();
  await schedules({ [which]: "another" }).alarm([{ at: host.now() + minuteMs, inMs: minuteMs }]);
  expect(new Set(asked.map(({ name }) => name)).size).toBe(2);
});

test("a name has at most 64 characters", async () => {
  await arm(5 * 365 * 86_400_000, 7_200_000);
  expect(asked[0]?.name).toMatch(/^[0-9A-Za-z._-]{1,64}$/);
});

test("a schedule that exists counts as armed while its minute lies ahead", async () => {
  answers = ["exists"];
  await arm(5 * minuteMs);
  await arm(5 * minuteMs);
  expect(minutes()).toEqual([5]);
});

test("one whose minute has come while AWS answered may have fired: the next minute is armed", async () => {
  const schedule = schedules();
  answers = ["exists"];
  const arming = schedule.alarm([{ at: host.now() + minuteMs, inMs: minuteMs }]);
  time = 50_000;
  await arming;
  expect(minutes()).toEqual([1, 2]);
});

test("an instant that is nearer than AWS' clock may be ahead rings a minute later", async () => {
  time = 50_000;
  await arm(10_000);
  expect(minutes()).toEqual([2]);
});

test("a minute that AWS refuses as past is followed by the next one", async () => {
  answers = [named("ValidationException")];
  await arm(5 * minuteMs);
  expect(minutes()).toEqual([5, 6]);
});

test("an alarm that AWS refuses for three minutes in a row was not armed", async () => {
  answers = [1, 2, 3].map(() => named("ValidationException"));
  await expect(arm(5 * minuteMs)).rejects.toThrow("ValidationException");
  await arm(5 * minuteMs);
  expect(minutes()).toEqual([5, 6, 7, 5]);
});

test("what AWS refuses for a moment is asked for again", async () => {
  answers = [named("ThrottlingException"), named("InternalServerException")];
  await passing(arm(5 * minuteMs));
  expect(minutes()).toEqual([5, 5, 5]);
});

test("an alarm that could not be armed rejects, so that the call that leans on it is not sent", async () => {
  answers = [1, 2, 3].map(() => named("ThrottlingException"));
  await expect(passing(arm(5 * minuteMs))).rejects.toThrow("ThrottlingException");
});

test("a minute is forgotten a little before it rings, since the clock of AWS may be ahead", async () => {
  await arm(2 * minuteMs);
  time = 2 * minuteMs - 12_000;
  await arm(12_000);
  expect(minutes()).toEqual([2, 3]);
});

test("what a sender has armed counts as armed at whoever goes on with the work", async () => {
  await arm(2 * minuteMs);
  const told = armed.next();
  armed = new Armed();
  for (const key of told) armed.add(key);
  await arm(2 * minuteMs);
  expect(minutes()).toEqual([2]);
});

test("a dispatch names the next five schedules, and no more", async () => {
  for (const minute of [9, 3, 7, 5, 4, 6, 8]) await arm(minute * minuteMs);
  expect(armed.next().map((key) => Number(key.split(":")[0]) - noon / minuteMs)).toEqual([3, 4, 5, 6, 7]);
});

test("after a tick that failed the next one comes a minute later, then after 2, 5 and 10 minutes", async () => {
  for (const tries of [0, 1, 2, 3, 4]) await schedules().ringAgain({ tries });
  expect(minutes()).toEqual([1, 2, 5, 10, 10]);
  expect(asked.map(({ input }) => JSON.parse(input).tries)).toEqual([1, 2, 3, 4, 5]);
});
