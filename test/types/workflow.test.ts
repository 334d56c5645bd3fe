/** What flows from a contract into its handler, without a type annotation. `tsc` is what fails here. */
import { type CallbacksOf, type InputOf, type ResultOf, type SignalsOf, type Workflow, workflow } from "layover";
import * as v from "valibot";
import { describe, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { bare, order } from "./contracts.ts";

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
