import { expect, test } from "vitest";
import type { LayoverEvent } from "../../src/engine/events.ts";
import { keyOf, levelOf, messageOf } from "../../src/platform/log/event-text.ts";
import { foldEqual } from "../../src/platform/log/fold-equal.ts";
import { Timers } from "../../src/testing/timers.ts";

const about = { workflow: "order", version: 1, at: new Date(0) };
const error = { name: "StepError", message: "charge failed" };

function aLog({ hasTimers = false } = {}) {
  let now = 0;
  const timers = new Timers(() => now);
  const printed: string[] = [];
  const after = (ms: number, act: () => void) => void timers.after(ms, act);
  const print = foldEqual<LayoverEvent>((event, more) => printed.push(`${messageOf(event)}${more}`), {
    keyOf,
    now: () => now,
    ...(hasTimers && { after }),
  });
  return {
    printed,
    print,
    report: (message: string, doing = "claiming") =>
      print({ kind: "error", error: new Error(message), doing, code: undefined }),
    pass(ms: number) {
      now += ms;
      timers.fire();
    },
  };
}

test("equal errors are printed once a minute, with how many there were", () => {
  const { report, pass, printed } = aLog();
  for (let time = 0; time < 5; time += 1) report("no database", `claiming ${time}`);
  report("another one", "ticking");
  pass(60_000);
  report("no database");
  pass(60_000);
  report("no database");
  expect(printed).toEqual([
    "error while claiming 0: no database",
    "error while ticking: another one",
    "error while claiming: no database (and 4 more like it before)",
    "error while claiming: no database",
  ]);
});

test("how many were left out is told when the minute is over, though none follows", () => {
  const { report, pass, printed } = aLog({ hasTimers: true });
  for (let time = 1; time <= 3; time += 1) report("no database", `claiming ${time}`);
  pass(59_999);
  expect(printed).toHaveLength(1);
  pass(1);
  expect(printed.slice(1)).toEqual(["error while claiming 3: no database (the last of 2 like it)"]);
  pass(60_000);
  expect(printed).toHaveLength(2);
});

test("where nothing may be waited for, another line tells how many were left out", () => {
  const { report, pass, printed } = aLog();
  for (let time = 1; time <= 3; time += 1) report("no database", `claiming ${time}`);
  pass(60_000);
  report("another one", "ticking");
  expect(printed.slice(1)).toEqual([
    "error while claiming 3: no database (the last of 2 like it)",
    "error while ticking: another one",
  ]);
});

test("an outage that fails 48,000 runs at once is a handful of lines", () => {
  const { print, report, pass, printed } = aLog({ hasTimers: true });
  for (let number = 0; number < 48_000; number += 1) {
    const runId = `run ${number}`;
    const failed = { ...error, message: `order ${number}: no way to the bank` };
    print({ kind: "lease_lost", runId, at: about.at });
    print({ kind: "run_failed", ...about, runId, error: failed, code: undefined });
    report(`connect ECONNREFUSED 127.0.0.1:${number}`, `finishing a turn of ${runId}`);
    if (number % 1_000 === 0) pass(1);
  }
  pass(60_000);
  expect(printed).toHaveLength(6);
  expect(printed.slice(3).every((line) => line.endsWith("(the last of 47999 like it)"))).toBe(true);
});

test("events of other workflows, steps and codes are lines of their own", () => {
  const { print, printed } = aLog();
  const failed = { kind: "run_failed", ...about, runId: "r", error, code: undefined } as const;
  const exhausted = { ...failed, kind: "step_exhausted", step: "ship[3]/send", attempt: 5, beganAt: about.at } as const;
  print(failed);
  print({ ...failed, workflow: "refund" });
  print({ ...failed, version: 2 });
  print({ ...failed, code: "23505" });
  print(exhausted);
  print({ ...exhausted, step: "ship[4]/send" });
  print({ ...exhausted, step: "charge" });
  expect(printed).toHaveLength(6);
});

test("what an operator need not read has no level", () => {
  const run = { ...about, runId: "r" };
  const attempt = { ...run, step: "charge", attempt: 1, beganAt: about.at };
  const quiet: readonly LayoverEvent[] = [
    { kind: "run_completed", ...run },
    { kind: "run_cancelled", ...run },
    { kind: "step_completed", ...attempt },
    { kind: "attempt_failed", ...attempt, error, code: undefined, retryAt: about.at },
  ];
  expect(quiet.map(levelOf)).toEqual([undefined, undefined, undefined, undefined]);
});
