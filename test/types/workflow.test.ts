/** What flows from a contract through its handler, without a type annotation. `tsc` is what fails here. */

import {
  type Callback,
  type CallbacksOf,
  type ErrorValue,
  type InputOf,
  type ResultOf,
  type RunOptions,
  type Settled,
  type SignalsOf,
  type Undo,
  type Workflow,
  workflow,
} from "layover";
import * as v from "valibot";
import { describe, expectTypeOf, test } from "vitest";
import * as z from "zod";

const order = workflow({
  name: "order",
  version: 1,
  input: z.object({ id: z.string(), amount: z.coerce.number(), note: z.string().default("") }),
  output: z.object({ charge: z.string().transform((charge) => charge.length) }),
  signals: { address: z.object({ city: z.string() }), stop: z.literal(true) },
  callbacks: { approval: z.object({ ok: z.boolean() }), rating: z.number() },
  status: z.object({ shipped: z.number() }),
  timeout: "30 days",
});

const bare = workflow({ name: "bare", version: 1 });

describe("a contract", () => {
  test("tells what a start takes and a run results in", () => {
    expectTypeOf<InputOf<typeof order>>().toEqualTypeOf<{ id: string; amount: unknown; note?: string | undefined }>();
    expectTypeOf<ResultOf<typeof order>>().toEqualTypeOf<{ charge: number }>();
    expectTypeOf<keyof SignalsOf<typeof order>>().toEqualTypeOf<"address" | "stop">();
    expectTypeOf<keyof CallbacksOf<typeof order>>().toEqualTypeOf<"approval" | "rating">();
  });

  test("without schemas takes no input, results in anything, and has no signals and no callbacks", () => {
    expectTypeOf<InputOf<typeof bare>>().toEqualTypeOf<undefined>();
    expectTypeOf<ResultOf<typeof bare>>().toEqualTypeOf<unknown>();
    expectTypeOf<keyof SignalsOf<typeof bare>>().toBeNever();
    expectTypeOf<keyof CallbacksOf<typeof bare>>().toBeNever();
  });

  test("refuses what is none", () => {
    // @ts-expect-error: a version is a number
    void (() => workflow({ name: "order", version: "1" }));
    // @ts-expect-error: a contract has a name
    void (() => workflow({ version: 1 }));
    // @ts-expect-error: a month is no unit of a duration
    void (() => workflow({ name: "order", version: 1, timeout: "1 month" }));
    // @ts-expect-error: a schema is no type
    void (() => workflow({ name: "order", version: 1, input: String }));
  });
});

describe("a handler", () => {
  test("is given the input schema's output, and gives what the output schema takes", () => {
    const made = order.handler(async ({ input, run, log }) => {
      expectTypeOf(input).toEqualTypeOf<{ id: string; amount: number; note: string }>();
      expectTypeOf(run.id).toEqualTypeOf<string | undefined>();
      expectTypeOf(run.createdAt).toEqualTypeOf<Date>();
      expectTypeOf(log.info).parameter(0).toEqualTypeOf<string>();
      return { charge: "c1" };
    });
    expectTypeOf(made).toEqualTypeOf<Workflow>();
    bare.handler(async ({ input }) => {
      expectTypeOf(input).toEqualTypeOf<undefined>();
    });
  });

  test("that gives something else is refused", () => {
    // @ts-expect-error: the output schema takes a text
    order.handler(async () => ({ charge: 1 }));
    // @ts-expect-error: the output schema takes an object
    order.handler(async () => {});
    // @ts-expect-error: a handler is asynchronous
    order.handler(() => ({ charge: "c1" }));
  });
});

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

describe("what runs side by side", () => {
  test("gives one result a branch, each with its own type", () => {
    order.handler(async ({ step }) => {
      const all = await step.all("all", [
        async ({ step }) => step.run("a", () => 1),
        async ({ step }) => (await step.waitForSignal("address")).city,
        async () => undefined,
      ]);
      expectTypeOf(all).toEqualTypeOf<readonly [number, string, undefined]>();
      const [first, second] = all;
      expectTypeOf(first).toEqualTypeOf<number>();
      expectTypeOf(second).toEqualTypeOf<string>();
      return { charge: second };
    });
  });

  test("gives one of the results where it is a race", () => {
    order.handler(async ({ step }) => {
      const winner = await step.race("race", [
        async ({ step }) => step.run("a", () => new Date()),
        async ({ step }) => step.sleep("too long", "1 hour").then(() => "slow" as const),
        async ({ step }) => step.waitForCallback("rating", () => {}, { onTimeout: "null" }),
      ]);
      expectTypeOf(winner).toEqualTypeOf<Date | "slow" | number | null>();
      return { charge: "" };
    });
  });

  test("gives one result an item, where it is a map", () => {
    order.handler(async ({ input, step }) => {
      const items = [{ sku: "a" }, { sku: "b" }] as const;
      const lengths = await step.map(
        "map",
        items,
        async (item, { step, index }) => {
          expectTypeOf(item.sku).toEqualTypeOf<"a" | "b">();
          expectTypeOf(index).toEqualTypeOf<number>();
          await step.waitForSignal("stop");
          return step.run("send", () => item.sku.length + input.amount);
        },
        { maxConcurrency: 5 },
      );
      expectTypeOf(lengths).toEqualTypeOf<number[]>();
      const settled = await step.mapSettled("settled", [1, 2], async (item) => String(item));
      expectTypeOf(settled).toEqualTypeOf<Settled<string>[]>();
      for (const each of settled) {
        if (each.status === "fulfilled") expectTypeOf(each.value).toEqualTypeOf<string>();
        else expectTypeOf(each.reason).toEqualTypeOf<unknown>();
      }
      return { charge: "" };
    });
  });

  test("passes the contract's signals on into its rooms", () => {
    order.handler(async ({ step }) => {
      const city = await step.scope("room", async ({ step }) => (await step.waitForSignal("address")).city);
      expectTypeOf(city).toEqualTypeOf<string>();
      await step.scope("room", async ({ step }) => {
        // @ts-expect-error: no such signal
        await step.waitForSignal("nothing");
      });
      return { charge: city };
    });
  });

  test("says what the contract's status allows, also in its rooms; without one anything that can be stored", () => {
    order.handler(async ({ step }) => {
      step.setStatus({ shipped: 1 });
      // @ts-expect-error: a number
      void (() => step.setStatus({ shipped: "one" }));
      await step.scope("room", async ({ step }) => {
        step.setStatus({ shipped: 2 });
        // @ts-expect-error: not this
        void (() => step.setStatus("two"));
      });
      await step.map("all", [1], async (_, { step }) => {
        // @ts-expect-error: not this
        void (() => step.setStatus("three"));
      });
      await step.cleanup("tidy", async ({ step }) => {
        step.setStatus({ shipped: 3 });
        // @ts-expect-error: not this
        void (() => step.setStatus("four"));
        await step.scope("room", async ({ step }) => {
          // @ts-expect-error: not this
          void (() => step.setStatus("five"));
        });
      });
      return { charge: "" };
    });
    bare.handler(async ({ step }) => {
      step.setStatus(["anything"]);
      // @ts-expect-error: a function cannot be stored
      void (() => step.setStatus(() => 1));
    });
  });

  test("gives the result of a cleanup, whose step waits for nobody", () => {
    order.handler(async ({ step }) => {
      const freed = await step.cleanup("free", async ({ step }) => {
        await step.sleep("settle", "1 minute");
        // @ts-expect-error: a cleanup is not undone
        await step.run("lock", () => 1, { compensate: () => {} });
        // @ts-expect-error: a cleanup waits for no signal
        void (() => step.waitForSignal("address"));
        // @ts-expect-error: nor for a callback
        void (() => step.waitForCallback("rating", () => {}));
        // @ts-expect-error: nor for the items of a map
        void (() => step.map("all", [1], async () => {}));
        return await step.scope("inner", async ({ step }) => {
          // @ts-expect-error: nor does a scope in it
          void (() => step.waitForSignal("address"));
          return await step.run("unlock", () => ({ at: step.now() }));
        });
      });
      expectTypeOf(freed).toEqualTypeOf<{ at: Date }>();
      return { charge: "" };
    });
  });

  test("refuses branches that are none", () => {
    bare.handler(async ({ step }) => {
      // @ts-expect-error: a promise is no branch
      await step.all("all", [step.run("a", () => 1)]);
      // @ts-expect-error: a branch is asynchronous
      await step.map("map", [1], (item) => item);
      // @ts-expect-error: items are an array
      await step.map("map", new Set([1]), async (item) => item);
    });
  });

  test("may be plain JavaScript", () => {
    bare.handler(async ({ step }) => {
      const both = await Promise.all([step.run("a", () => 1), step.run("b", () => "b")]);
      expectTypeOf(both).toEqualTypeOf<[number, string]>();
      const any = await Promise.any([step.run("a", () => 1), step.run("b", () => "b")]);
      expectTypeOf(any).toEqualTypeOf<number | string>();
    });
  });
});

test("a handler may refer to its own contract, and two contracts to each other", () => {
  const ping = workflow({ name: "ping", version: 1, input: z.number(), output: z.string() });
  const pong = workflow({ name: "pong", version: 1, input: z.string(), output: z.number() });
  const workflows = [
    ping.handler(async ({ input }) => {
      expectTypeOf<InputOf<typeof ping>>().toEqualTypeOf<typeof input>();
      return `${pong.name} ${ping.version} ${input}`;
    }),
    pong.handler(async ({ input }) => {
      expectTypeOf<ResultOf<typeof ping>>().toEqualTypeOf<typeof input>();
      return ping.name.length;
    }),
  ];
  expectTypeOf(workflows).toEqualTypeOf<Workflow[]>();
});

test("any Standard Schema will do, side by side", () => {
  const mixed = workflow({
    name: "mixed",
    version: 1,
    input: v.object({
      id: v.string(),
      at: v.pipe(
        v.string(),
        v.isoTimestamp(),
        v.transform((text) => new Date(text)),
      ),
    }),
    output: v.optional(v.number(), 0),
    signals: { go: v.picklist(["left", "right"]), stop: z.boolean() },
    callbacks: { approval: v.tuple([v.string(), v.number()]) },
  });
  expectTypeOf<InputOf<typeof mixed>>().toEqualTypeOf<{ id: string; at: string }>();
  expectTypeOf<ResultOf<typeof mixed>>().toEqualTypeOf<number>();
  mixed.handler(async ({ input, step }) => {
    expectTypeOf(input).toEqualTypeOf<{ id: string; at: Date }>();
    expectTypeOf(await step.waitForSignal("go")).toEqualTypeOf<"left" | "right">();
    expectTypeOf(await step.waitForSignal("stop")).toEqualTypeOf<boolean>();
    expectTypeOf(await step.waitForCallback("approval", () => {})).toEqualTypeOf<[string, number]>();
    return undefined;
  });
});
