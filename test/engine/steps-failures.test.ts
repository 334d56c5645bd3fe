/** Failures of a step: when it is tried again, after which pauses, and what its handler gets in the end. */
import type { StepContext } from "layover";
import { NonRetryableError, RetryAfterError } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { bothWays } from "./both-ways.ts";
import { play } from "./playing.ts";

const database = testDatabase();

describe.each(bothWays)("a step %s", (_, runIt) => {
  test("that fails is tried again, after pauses that grow", async () => {
    const times: number[] = [];
    const { view } = await play(database, async ({ step }, world) =>
      runIt(
        step,
        ({ attempt }) => {
          times.push(world.time);
          if (attempt < 5) throw new Error("not yet");
          return attempt;
        },
        { retry: { delay: "1s", backoff: 3, maxDelay: "8s", jitter: false } },
      ),
    );
    expect(view).toMatchObject({ status: "completed", result: 5 });
    expect(times).toEqual([0, 1_000, 4_000, 12_000, 20_000]);
  });

  test("pauses anywhere up to the full pause", async () => {
    const times: number[] = [];
    await play(database, async ({ step }, world) =>
      runIt(
        step,
        () => {
          times.push(world.time);
          throw new Error("never");
        },
        { retry: { maxAttempts: 6, delay: "10s", backoff: 1 } },
      ),
    );
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(10_000);
    expect(new Set(pauses).size).toBe(5);
  });

  test("throws a StepError after its last attempt, and keeps every attempt for the timeline", async () => {
    const { view, world, run } = await play(database, async ({ step }) =>
      runIt(
        step,
        ({ attempt }) => {
          throw Object.assign(new TypeError(`no ${attempt}`), { code: "E_NO", limit: 7 });
        },
        { retry: { maxAttempts: 3, delay: 0 } },
      ),
    );
    expect(view).toMatchObject({
      status: "failed",
      error: {
        name: "StepError",
        message: 'step "it" failed after 3 attempts: TypeError: no 3',
        cause: { name: "TypeError", message: "no 3", code: "E_NO", data: { limit: 7 } },
      },
    });
    const { attempts } = await world.history(run);
    expect(attempts.map(({ number, error }) => [number, error?.message])).toEqual([
      [1, "no 1"],
      [2, "no 2"],
      [3, "no 3"],
    ]);
  });

  test("that throws what nobody can look at has failed like any other", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const { view, world, run } = await play(database, async ({ step }) =>
      runIt(
        step,
        () => {
          throw proxy;
        },
        { retry: { maxAttempts: 2, delay: 0 } },
      ),
    );
    const message = "an object that is no Error was thrown";
    expect(view).toMatchObject({ status: "failed", error: { name: "StepError", cause: { message } } });
    expect((await world.history(run)).attempts).toHaveLength(2);
  });

  test("can be caught, and the run goes on", async () => {
    const { view } = await play(database, async ({ step }) => {
      try {
        await runIt(
          step,
          () => {
            throw new RangeError("out");
          },
          { retry: { maxAttempts: 1 } },
        );
        return "not caught";
      } catch (error) {
        if (!(error instanceof Error)) return "no error";
        const cause: unknown = Reflect.get(Object(error.cause), "name");
        return [error.name, Reflect.get(error, "attempts"), cause, await step.run("after", () => "after")];
      }
    });
    expect(view.result).toEqual(["StepError", 1, "RangeError", "after"]);
  });

  test("is not tried again after a NonRetryableError", async () => {
    class CardExpired extends NonRetryableError {
      override readonly name = "CardExpired";
    }
    const { view } = await play(database, async ({ step }) =>
      runIt(step, () => {
        throw new CardExpired("the card is expired", { data: { card: 1 } });
      }),
    );
    expect(view.error).toMatchObject({
      message: 'step "it" failed after 1 attempt: CardExpired: the card is expired',
      cause: { name: "CardExpired", data: { card: 1 } },
    });
  });

  test.each([
    ["a duration", () => "7s" as const],
    ["a date", (now: number) => new Date(now + 7_000)],
  ])("is tried again when a RetryAfterError says so, by %s", async (_kind, after) => {
    const times: number[] = [];
    const { view } = await play(database, async ({ step }, world) =>
      runIt(step, ({ attempt }) => {
        times.push(world.time);
        if (attempt === 1) throw new RetryAfterError("rate limited", after(world.now));
        return attempt;
      }),
    );
    expect(view.result).toBe(2);
    expect(times).toEqual([0, 7_000]);
  });

  test("has the same idempotency key in every attempt, and another one than any other step", async () => {
    const keys: string[][] = [[], []];
    const failing =
      (which: number) =>
      ({ attempt, idempotencyKey }: StepContext) => {
        keys[which]?.push(idempotencyKey);
        if (attempt < 3) throw new Error("again");
      };
    await play(
      database,
      async ({ step }) => {
        await runIt(step, failing(0), { retry: { delay: "1s" } });
        await runIt(step, failing(1), { retry: { delay: "1s" } });
      },
      { warmRuns: 0 },
    );
    expect(keys.map((each) => [each.length, new Set(each).size])).toEqual([
      [3, 1],
      [3, 1],
    ]);
    expect(keys[0]?.[0]).not.toBe(keys[1]?.[0]);
    expect(keys[0]?.[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
