import { afterEach, expect, test, vi } from "vitest";
import { LayoverError } from "../../src/core/errors.ts";
import type { LayoverEvent } from "../../src/engine/events.ts";
import { printEvent } from "../../src/platform/cloudflare/index.ts";

const about = { runId: crypto.randomUUID(), workflow: "order", version: 1, at: new Date(0) };

afterEach(() => {
  vi.restoreAllMocks();
});

test("an event that an operator must see is one object, whose fields can be searched by", () => {
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  const failure = { name: "StepError", message: "charge failed", stack: "StepError: charge failed\n  at pay.ts" };
  printEvent({ kind: "run_failed", ...about, error: failure, code: "E_DECLINED" });
  expect(error.mock.calls).toEqual([
    [
      {
        ...about,
        kind: "run_failed",
        code: "E_DECLINED",
        message: "the run failed: StepError: charge failed",
        stack: failure.stack,
      },
    ],
  ]);
});

test("an error says what to do; equal ones within a minute are left out", () => {
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  const thrown = new LayoverError("invalid_secret", "there is no root secret", { hint: "Set LAYOVER_SECRET." });
  const event: LayoverEvent = { kind: "error", error: thrown, doing: "ticking", code: thrown.code };
  for (let time = 0; time < 1_000; time += 1) printEvent(event);
  expect(error.mock.calls).toEqual([
    [
      expect.objectContaining({
        message: "error while ticking: there is no root secret",
        code: "invalid_secret",
        hint: "Set LAYOVER_SECRET.",
      }),
    ],
  ]);
});

test("what an operator need not see is not written", () => {
  const written = (["log", "warn", "error"] as const).map((level) => vi.spyOn(console, level));
  printEvent({ kind: "run_completed", ...about });
  printEvent({ kind: "step_completed", ...about, step: "charge", attempt: 1, beganAt: about.at });
  for (const spy of written) expect(spy).not.toHaveBeenCalled();
});
