/**
 * What runs side by side or in a room of its own gives to a handler, without a type annotation. `tsc` is what fails
 * here.
 */
import type { Settled } from "layover";
import { describe, expectTypeOf, test } from "vitest";
import { bare, order } from "./contracts.ts";

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
