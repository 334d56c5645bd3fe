/** `step.run`, alone and as a branch beside another: both ways it must behave alike. */

import type { StepContext, StepOptions } from "layover";
import { NonRetryableError, RetryAfterError } from "layover";
import { describe, expect, test } from "vitest";
import { encode } from "../../src/core/codec/codec.ts";
import { testDatabase } from "../postgres/database.ts";
import { play, type TestedStep } from "./playing.ts";
import type { World } from "./world.ts";

const database = testDatabase();

type Body = (context: StepContext) => unknown;
const alone = (step: TestedStep, body: Body, options?: StepOptions) => step.run("it", body, options);
const beside = async (step: TestedStep, body: Body, options?: StepOptions) => {
  const [result] = await Promise.all([step.run("it", body, options), step.run("beside", () => 0)]);
  return result;
};

describe.each([
  ["alone", alone],
  ["beside another", beside],
])("a step %s", (_, runIt) => {
  test("gives what its body gave", async () => {
    const { view } = await play(database, async ({ step }) => runIt(step, async () => ({ charge: "c1" })));
    expect(view).toMatchObject({ status: "completed", result: { charge: "c1" } });
  });

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

  test("is aborted at its timeout, and a result that comes later is discarded", async () => {
    const aborted: [time: number, reason: string][] = [];
    const { view, world } = await play(database, async ({ step }, world) =>
      runIt(
        step,
        async ({ attempt, abortSignal }) => {
          abortSignal.addEventListener("abort", () => aborted.push([world.time, abortSignal.reason.name]));
          await world.foreign(attempt === 1 ? "45s" : "10s");
          return attempt === 1 ? "late" : "in time";
        },
        { timeout: "30s", retry: { delay: "10s", jitter: false } },
      ),
    );
    expect(view).toMatchObject({ status: "completed", result: "in time" });
    expect(aborted).toEqual([[30_000, "TimeoutError"]]);
    expect(world.time).toBe(55_000);
  });

  test("is not begun again while an attempt that timed out still runs in this process", async () => {
    const story: string[] = [];
    const { view } = await play(database, async ({ step }, world) =>
      runIt(
        step,
        async ({ attempt }) => {
          story.push(`${attempt} begins`);
          await world.foreign(attempt === 1 ? "2 minutes" : "1s");
          story.push(`${attempt} ends`);
        },
        { timeout: "30s", retry: { maxAttempts: 5, delay: "1s", jitter: false, backoff: 1 } },
      ),
    );
    expect(view.status).toBe("completed");
    // The second attempt and the third were over before they could begin.
    expect(story).toEqual(["1 begins", "1 ends", "4 begins", "4 ends"]);
  });

  test("whose body never ends fails after its last attempt, begun once, and says why", async () => {
    let bodies = 0;
    const { view } = await play(database, async ({ step }, world) =>
      runIt(
        step,
        () => {
          bodies += 1;
          return world.foreign();
        },
        { timeout: "30s", retry: { maxAttempts: 3 } },
      ),
    );
    expect(view.error?.cause).toMatchObject({ name: "TimeoutError" });
    expect(view.error?.cause?.data).toMatchObject({
      hint: expect.stringContaining("An earlier attempt still runs in this process"),
    });
    expect(bodies).toBe(1);
  });

  test("has 60 seconds, unless it asks for more", async () => {
    const { view } = await play(database, async ({ step }, world) =>
      runIt(step, () => world.foreign("61s"), { retry: { maxAttempts: 1 } }),
    );
    expect(view.error?.cause).toMatchObject({
      name: "TimeoutError",
      message: 'the step "it" did not end within 1 min',
      data: { hint: expect.stringContaining("A step has 60 s unless it is given more") },
    });
  });

  test("may take long: its lease is renewed meanwhile, and nobody else carries it out", async () => {
    let bodies = 0;
    const { view, world } = await play(database, async ({ step }, world) =>
      runIt(
        step,
        async ({ abortSignal }) => {
          bodies += 1;
          await world.foreign("30 minutes");
          return abortSignal.aborted;
        },
        { timeout: "1 hour" },
      ),
    );
    expect(view).toMatchObject({ status: "completed", result: false });
    expect(bodies).toBe(1);
    expect(world.statements("renew_leases")).toBe(59);
  });

  test("that lost its lease is told so, and its result is not recorded", async () => {
    const told: string[] = [];
    const { view } = await play(
      database,
      async ({ step }, world) => {
        world.fate = ({ what }) => (what === "renew_leases" && world.time < 130_000 ? "fails before" : "passes");
        return runIt(
          step,
          async ({ abortSignal }) => {
            const began = world.time;
            abortSignal.addEventListener("abort", () => told.push(`${began}: ${abortSignal.reason.message}`));
            await world.foreign(began === 0 ? "8 minutes" : "6 minutes");
            return began;
          },
          { timeout: "1 hour" },
        );
      },
      { processes: 4 },
    );
    expect(told).toContain("0: the lease of this step is lost");
    expect(view.status).toBe("completed");
    expect(view.result).toBeGreaterThanOrEqual(60_000);
  });

  test.each([
    ["a function", { order: { items: [1, () => 2] } }, "order.items[1]", "unstorable_value"],
    ["an instance of a class", { order: new (class Order {})() }, "order", "unstorable_value"],
    ["too much", { order: "x".repeat(1024 * 1024) }, "", "value_too_large"],
  ])("fails at once when it gives %s, and names the place in the value", async (_kind, result, path, code) => {
    let bodies = 0;
    const { view } = await play(database, async ({ step }) =>
      runIt(step, () => {
        bodies += 1;
        return result;
      }),
    );
    expect(view).toMatchObject({ status: "failed", error: { name: "StepError", cause: { code } } });
    expect(view.error?.cause?.message).toContain(`the result of step "it"`);
    expect(view.error?.cause?.message).toContain(path);
    expect(bodies).toBe(1);
  });

  test.each([
    ["a text", "just so", "just so"],
    ["null", null, "null was thrown"],
    ["undefined", undefined, "undefined was thrown"],
    ["a lone surrogate and a NUL", new Error("\ud800\u0000"), "\ud800\u0000"],
  ])("may throw %s", async (_kind, thrown, message) => {
    const { view } = await play(database, async ({ step }) =>
      runIt(
        step,
        () => {
          throw thrown;
        },
        { retry: { maxAttempts: 1 } },
      ),
    );
    expect(view).toMatchObject({ status: "failed", error: { cause: { message } } });
  });

  test("may log from its body", async () => {
    const { world } = await play(database, async ({ step, log }) => {
      await step.run("first", () => {});
      await runIt(step, ({ attempt }) => {
        log.info("in the body", { attempt });
        if (attempt === 1) throw new Error("again");
      });
    });
    expect(world.logs.map(({ message, fields }) => [message, fields])).toEqual([
      ["in the body", { attempt: 1 }],
      ["in the body", { attempt: 2 }],
    ]);
  });
});

test("a step's name is checked, and the sentence says what is wrong", async () => {
  const { view } = await play(database, async ({ step }) => step.run("charge/card", () => 1));
  expect(view).toMatchObject({ status: "failed", error: { name: "LayoverError", code: "invalid_name" } });
});

test("the path of a step is checked before anything is begun, and the longest one is recorded", async () => {
  const bodies: string[] = [];
  const inScopes = (step: TestedStep, names: readonly string[], body: string): Promise<unknown> => {
    const [name = "", ...rest] = names;
    return rest.length === 0
      ? step.run(name, () => bodies.push(body))
      : step.scope(name, async ({ step: inner }) => inScopes(inner, rest, body));
  };
  const scopes = Array.from({ length: 9 }, () => "s".repeat(199));
  const { view } = await play(database, async ({ step }) => {
    await inScopes(step, [...scopes, "t".repeat(200)], "longest");
    await Promise.all([inScopes(step, [...scopes, "t".repeat(196)], "beside"), step.run("other", () => 0)]);
    await inScopes(step, [...scopes, "u".repeat(198), "x"], "too long");
  });
  expect(bodies).toEqual(["longest", "beside"]);
  expect(view).toMatchObject({
    status: "failed",
    error: { code: "invalid_name", message: expect.stringContaining("bytes long, more than 2000") },
  });
});

test("a step that is no function is refused", async () => {
  const body: unknown = "charge";
  const { view } = await play(database, async ({ step }) => step.run("charge", body as () => string));
  expect(view.error).toMatchObject({ code: "invalid_request", message: 'the body of step "charge" is no function' });
});

test("a step that is asked for twice by one name is two steps", async () => {
  const { view, world, run } = await play(database, async ({ step }) => [
    await step.run("it", () => 1),
    await step.run("it", () => 2),
  ]);
  expect(view.result).toEqual([1, 2]);
  expect((await world.history(run)).records.map(({ path, occurrence }) => [path, occurrence])).toEqual([
    ["it", 1],
    ["it", 2],
  ]);
});

test("what a step gives is the same for its handler as after a replay", async () => {
  const result = {
    date: new Date(0),
    map: new Map([["a", new Set([1n])]]),
    undef: undefined,
    minus: -0,
    nan: Number.NaN,
  };
  const seen: string[] = [];
  const { view } = await play(
    database,
    async ({ step }) => {
      const value = await step.run("rich", () => result);
      seen.push(encode(value));
      value.date.setFullYear(1);
      await step.run("next", () => {});
      await step.sleep("nap", "1s");
      return value;
    },
    { warmRuns: 0 },
  );
  expect(view.status).toBe("completed");
  expect(seen).toHaveLength(3);
  expect(new Set(seen)).toEqual(new Set([encode(result)]));
});

describe("a step in the body of a step", () => {
  test.each([
    ["at once", undefined],
    ["after a while", (world: World) => world.foreign(100)],
  ])("is refused: %s", async (when, pause) => {
    let calls = 0;
    const { view } = await play(database, async ({ step }, world) =>
      step.run("outer", async () => {
        calls += 1;
        if (pause !== undefined) await pause(world);
        return step.run("inner", () => "never");
      }),
    );
    expect(calls).toBe(1);
    if (when === "at once") {
      expect(view).toMatchObject({
        status: "failed",
        error: { name: "StepError", cause: { code: "nested_step", message: expect.stringContaining("inner") } },
      });
    } else
      expect(view).toMatchObject({
        status: "blocked",
        blocked: expect.stringContaining("or the body of step outer uses `step`"),
      });
  });

  test("blocks the run also from a branch, whose failure is not recorded", async () => {
    const { view, world, run } = await play(database, async ({ step }, world) =>
      Promise.all([
        step.run("beside", () => world.foreign("1s")),
        step.run("outer", async () => {
          await world.foreign(100);
          return step.run("inner", () => "never");
        }),
      ]),
    );
    expect(view).toMatchObject({
      status: "blocked",
      blocked: expect.stringContaining("or the body of step beside or outer uses `step`"),
    });
    expect((await world.history(run)).attempts).toEqual([]);
  });
});
