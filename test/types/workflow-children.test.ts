/** `step.invoke` and `step.start` have the types of the other contract's input and output, without a type annotation. `tsc` is what fails here. */
import { describe, expectTypeOf, test } from "vitest";
import { bare, order } from "./contracts.ts";

describe("step.invoke", () => {
  test("takes what the input schema of the contract takes, and gives the output schema's output", () => {
    bare.handler(async ({ step }) => {
      expectTypeOf(await step.invoke("one", order, { id: "o1", amount: 1 })).toEqualTypeOf<{ charge: number }>();
      await step.invoke("text", order, { id: "o1", amount: "1", note: "soon" });
      expectTypeOf(await step.invoke("none", bare)).toEqualTypeOf<unknown>();
      const items = await step.map("each", ["o1", "o2"], (id, { step }) => step.invoke("it", order, { id, amount: 1 }));
      expectTypeOf(items).toEqualTypeOf<{ charge: number }[]>();
      // @ts-expect-error: an input of this contract has an id
      await step.invoke("no id", order, { amount: 1 });
      // @ts-expect-error: an id is a text
      await step.invoke("number", order, { id: 1, amount: 1 });
      // @ts-expect-error: the input is not optional
      await step.invoke("no input", order);
      // @ts-expect-error: this contract has no input
      await step.invoke("input", bare, { id: "o1" });
      // @ts-expect-error: a contract, and not its name
      await step.invoke("name", "order", { id: "o1", amount: 1 });
    });
  });

  test("takes the options id, tags, timeout, onParentEnd and compensate, and no others", () => {
    bare.handler(async ({ step }) => {
      const input = { id: "o1", amount: 1 };
      await step.invoke("id", order, input, { id: "o1", tags: { shop: "a" } });
      await step.invoke("timeout", order, input, { timeout: "1 hour", onParentEnd: "abandon" });
      await step.invoke("cancel", bare, undefined, { onParentEnd: "cancel" });
      await step.invoke("undo", order, input, {
        compensate: (result, { original, outcome }) => {
          expectTypeOf(result).toEqualTypeOf<{ charge: number } | undefined>();
          expectTypeOf(original).toEqualTypeOf<{ readonly runId: string }>();
          expectTypeOf(outcome).toEqualTypeOf<"succeeded" | "unknown">();
        },
      });
      // @ts-expect-error: a run is cancelled or abandoned
      await step.invoke("end", order, input, { onParentEnd: "terminate" });
      // @ts-expect-error: a duration has a unit
      await step.invoke("soon", order, input, { timeout: "soon" });
      // @ts-expect-error: an id is a text
      await step.invoke("number", order, input, { id: 1 });
      // @ts-expect-error: a run is retried by a person, and not by an option
      await step.invoke("retry", order, input, { retry: { maxAttempts: 2 } });
    });
  });
});

describe("step.start", () => {
  test("takes what the input schema of the contract takes, with an id and tags, and gives the run's id", () => {
    bare.handler(async ({ step }) => {
      const started = await step.start("one", order, { id: "o1", amount: 1 }, { id: "o1", tags: { shop: "a" } });
      expectTypeOf(started).toEqualTypeOf<{ readonly runId: string }>();
      await step.start("none", bare);
      // @ts-expect-error: an input of this contract has an amount
      await step.start("no amount", order, { id: "o1" });
      // @ts-expect-error: nobody waits for the run
      await step.start("timeout", order, { id: "o1", amount: 1 }, { timeout: "1 hour" });
      // @ts-expect-error: nobody is left by whom it is abandoned
      await step.start("end", order, { id: "o1", amount: 1 }, { onParentEnd: "abandon" });
    });
  });
});
