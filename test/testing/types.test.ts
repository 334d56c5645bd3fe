/** What the contract makes of the kit's verbs, without an annotation anywhere. Checked by `tsc`. */
import { type RunStatus, workflow } from "layover";
import { describe, expectTypeOf, it } from "vitest";
import * as z from "zod";
import { failing, hanging, type TestEngine, type TestRun, testEngine } from "../../src/testing.ts";

const order = workflow({
  name: "order",
  version: 1,
  input: z.object({ id: z.string(), at: z.coerce.date().optional() }),
  output: z.object({ charge: z.string(), paidAt: z.date() }),
  signals: { address: z.object({ city: z.string(), zip: z.string().default("") }) },
  callbacks: { approval: z.object({ ok: z.boolean() }), rating: z.number() },
});
const bare = workflow({ name: "bare", version: 1 });

declare const t: TestEngine;
declare const run: TestRun<typeof order>;

/** Never called: only its types are looked at. */
const types = (_: () => unknown) => {};

describe("the test kit", () => {
  it("starts runs of a contract", () => {
    types(async () => {
      expectTypeOf(await t.start(order, { id: "o1" }, { delay: "1 hour" })).toEqualTypeOf<TestRun<typeof order>>();
      await t.start(bare);
      // @ts-expect-error: an input of this contract has an id
      await t.start(order, {});
      // @ts-expect-error: the input is not optional
      await t.start(order);
      // @ts-expect-error: a duration has a unit
      await t.advance("soon");
    });
  });

  it("knows a run's result, status, signals and callbacks", () => {
    types(async () => {
      expectTypeOf(await run.result()).toEqualTypeOf<{ charge: string; paidAt: Date }>();
      expectTypeOf(await run.status()).toEqualTypeOf<RunStatus>();
      await run.signal("address", { city: "Turin" });
      await run.callback("approval").resolve({ ok: true });
      await run.callback("rating", { path: "each[1]/rating" }).resolve(5);
      await run.callback("rating").reject("too low");
      await run.untilWaiting("address");
      await run.untilWaiting("rating");
      // @ts-expect-error: it waits for nothing of that name
      await run.untilWaiting("charge");
      // @ts-expect-error: there is no such signal
      await run.signal("approval", { ok: true });
      // @ts-expect-error: an address has a city
      await run.signal("address", {});
      // @ts-expect-error: the answer to another callback
      await run.callback("rating").resolve({ ok: true });
      // @ts-expect-error: there is no such callback
      run.callback("address");
    });
  });

  it("gives stubs their context", () => {
    types(async () => {
      await testEngine({
        workflows: [],
        stub: {
          order: {
            charge: ({ attempt, abortSignal, idempotencyKey, path, url }) => {
              expectTypeOf(attempt).toEqualTypeOf<number>();
              expectTypeOf(abortSignal).toEqualTypeOf<AbortSignal>();
              expectTypeOf([idempotencyKey, path]).toEqualTypeOf<string[]>();
              expectTypeOf(url).toEqualTypeOf<string | undefined>();
            },
            "[undo]/charge": ({ undone }) => {
              expectTypeOf(undone?.result).toEqualTypeOf<unknown>();
              expectTypeOf(undone?.outcome).toEqualTypeOf<"succeeded" | "unknown" | undefined>();
            },
            send: failing(2, ({ attempt }) => attempt),
            slow: hanging,
            // @ts-expect-error: a stub is a function
            refund: "r1",
          },
        },
      });
    });
  });
});
