/** What a step, a signal and a callback give to a handler, without a type annotation. `tsc` is what fails here. */
import type { Callback, ErrorValue, RunOptions, Undo } from "layover";
import { describe, expectTypeOf, test } from "vitest";
import { bare, order } from "./contracts.ts";

describe("a step", () => {
  test("has the type of its body's result", () => {
    order.handler(async ({ step }) => {
      const later = await step.run("later", async () => ({ id: "c1", at: new Date(0) }));
      expectTypeOf(later).toEqualTypeOf<{ id: string; at: Date }>();
      const now = await step.run("now", ({ attempt, idempotencyKey, abortSignal }) => {
        expectTypeOf(attempt).toEqualTypeOf<number>();
        expectTypeOf(idempotencyKey).toEqualTypeOf<string>();
        expectTypeOf(abortSignal).toEqualTypeOf<AbortSignal>();
        return [1, 2];
      });
      expectTypeOf(now).toEqualTypeOf<number[]>();
      const nothing = await step.run("nothing", () => {});
      expectTypeOf(nothing).toEqualTypeOf<void>();
      const either = await step.run("either", () => (now.length > 1 ? "many" : undefined));
      expectTypeOf(either).toEqualTypeOf<string | undefined>();
      return { charge: later.id };
    });
  });

  test("gives its result to its undo, which is told what is known of it", () => {
    bare.handler(async ({ step }) => {
      const charge = await step.run("charge", async () => ({ id: "c1", at: new Date(0) }), {
        compensate: (charge, { outcome, error, original, attempt, idempotencyKey, abortSignal }) => {
          expectTypeOf(charge).toEqualTypeOf<{ id: string; at: Date } | undefined>();
          expectTypeOf(outcome).toEqualTypeOf<"succeeded" | "unknown">();
          expectTypeOf(error).toEqualTypeOf<ErrorValue | undefined>();
          expectTypeOf([original.idempotencyKey, idempotencyKey]).toEqualTypeOf<string[]>();
          expectTypeOf(attempt).toEqualTypeOf<number>();
          expectTypeOf(abortSignal).toEqualTypeOf<AbortSignal>();
        },
      });
      expectTypeOf(charge).toEqualTypeOf<{ id: string; at: Date }>();
      const count = await step.run("count", () => 1, {
        retry: { maxAttempts: 1 },
        compensate: {
          run: async (count) => {
            expectTypeOf(count).toEqualTypeOf<number | undefined>();
          },
          retry: { maxAttempts: 3, delay: "1s" },
          timeout: "1 minute",
        },
      });
      expectTypeOf(count).toEqualTypeOf<number>();
      const refund: Undo<{ id: string }> = (charge) => charge?.id;
      const options: RunOptions<{ id: string }> = { compensate: refund };
      await step.run("apart", () => ({ id: "c1" }), options);
    });
  });

  test("takes the semantics of a step by name, also in a cleanup", () => {
    bare.handler(async ({ step }) => {
      const sent = await step.run("fax", () => 1, { semantics: "at-most-once", compensate: (sent) => sent?.toFixed() });
      expectTypeOf(sent).toEqualTypeOf<number>();
      await step.cleanup("end", ({ step }) => step.run("fax", () => 1, { semantics: "at-least-once" }));
      // @ts-expect-error: no semantics
      await step.run("ill", () => 1, { semantics: "once" });
    });
  });

  test("refuses an undo that is none, or of another result", () => {
    bare.handler(async ({ step }) => {
      // @ts-expect-error: the step gives a number
      await step.run("ill", () => 1, { compensate: (id: string) => id.length });
      // @ts-expect-error: a promise is no undo
      await step.run("ill", () => 1, { compensate: Promise.resolve() });
      // @ts-expect-error: nothing says what to run
      await step.run("ill", () => 1, { compensate: { retry: { maxAttempts: 1 } } });
      // @ts-expect-error: a typing error
      await step.run("ill", () => 1, { compensate: { run: () => {}, retries: { maxAttempts: 1 } } });
      // @ts-expect-error: a sleep is not undone
      await step.sleep("nap", "1 hour", { compensate: () => {} });
    });
  });

  test("takes only options that there are", () => {
    bare.handler(async ({ step }) => {
      const body = () => 1;
      await step.run("well", body, {
        retry: { maxAttempts: 3, delay: "1s", backoff: 2, maxDelay: "5m", jitter: false },
      });
      // @ts-expect-error: a typing error
      await step.run("ill", body, { retries: { maxAttempts: 3 } });
      // @ts-expect-error: no unit
      await step.run("ill", body, { timeout: "30" });
      // @ts-expect-error: a name is a text
      await step.run(1, body);
      // @ts-expect-error: a promise is no body
      await step.run("ill", Promise.resolve(1));
      // @ts-expect-error: a sleep has a name
      await step.sleep("1 hour");
      // @ts-expect-error: an instant is a date or a number
      await step.sleepUntil("then", "tomorrow");
    });
  });

  test("gives dates, numbers and texts that replays repeat", () => {
    bare.handler(async ({ step }) => {
      expectTypeOf(step.now()).toEqualTypeOf<Date>();
      expectTypeOf(step.random()).toEqualTypeOf<number>();
      expectTypeOf(step.uuid()).toEqualTypeOf<string>();
    });
  });
});

describe("a signal", () => {
  test("has the type of its schema's output, and may be null only where a timeout gives null", () => {
    order.handler(async ({ step }) => {
      expectTypeOf(await step.waitForSignal("address")).toEqualTypeOf<{ city: string }>();
      expectTypeOf(await step.waitForSignal("stop", { timeout: "1 hour" })).toEqualTypeOf<true>();
      expectTypeOf(await step.waitForSignal("stop", { timeout: "1 hour", onTimeout: "throw" })).toEqualTypeOf<true>();
      const orNull = await step.waitForSignal("address", { timeout: "1 hour", onTimeout: "null" });
      expectTypeOf(orNull).toEqualTypeOf<{ city: string } | null>();
      return { charge: "" };
    });
  });

  test("that the contract does not have is refused", () => {
    order.handler(async ({ step }) => {
      // @ts-expect-error: no such signal
      await step.waitForSignal("adress");
      // @ts-expect-error: that is a callback
      await step.waitForSignal("approval");
      // @ts-expect-error: no such way to time out
      await step.waitForSignal("stop", { onTimeout: "undefined" });
      return { charge: "" };
    });
    bare.handler(async ({ step }) => {
      // @ts-expect-error: it has none
      await step.waitForSignal("address");
    });
  });
});

describe("a callback", () => {
  test("has the type of its schema's output, and may be null only where a timeout gives null", () => {
    order.handler(async ({ step }) => {
      const approval = await step.waitForCallback("approval", ({ url, token, attempt }) => {
        expectTypeOf([url, token]).toEqualTypeOf<string[]>();
        expectTypeOf(attempt).toEqualTypeOf<number>();
      });
      expectTypeOf(approval).toEqualTypeOf<{ ok: boolean }>();
      const announce = async () => {};
      expectTypeOf(await step.waitForCallback("rating", announce, { timeout: "3 days" })).toEqualTypeOf<number>();
      const orNull = await step.waitForCallback("rating", announce, { timeout: "3 days", onTimeout: "null" });
      expectTypeOf(orNull).toEqualTypeOf<number | null>();

      const callback = step.createCallback("rating");
      expectTypeOf(callback).toEqualTypeOf<Callback<number>>();
      expectTypeOf(await callback.wait()).toEqualTypeOf<number>();
      expectTypeOf(await callback.wait({ timeout: 5, onTimeout: "null" })).toEqualTypeOf<number | null>();
      return { charge: "" };
    });
  });

  test("that the contract does not have is refused", () => {
    order.handler(async ({ step }) => {
      // @ts-expect-error: no such callback
      step.createCallback("address");
      // @ts-expect-error: no such callback
      await step.waitForCallback("approvals", () => {});
      // @ts-expect-error: somebody must be told the URL
      await step.waitForCallback("approval");
      return { charge: "" };
    });
  });
});
