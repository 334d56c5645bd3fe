/** What the compiler refuses because it cannot be stored, and what it lets pass. `tsc` is what fails here. */
import { type Schema, type Step, workflow } from "layover";
import { describe, expectTypeOf, test } from "vitest";
import * as z from "zod";
import type { CannotBeStored, Storable } from "../../src/core/contract/storable.ts";

class Money {
  readonly amount = 1;
  plus(other: Money): Money {
    return other;
  }
}
interface Tree {
  readonly name: string;
  readonly kids: readonly Tree[];
}
interface LivelyTree {
  readonly kids: readonly LivelyTree[];
  grow(): void;
}
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type Branded<T> = T & z.$brand<"mine">;

const bare = workflow({ name: "bare", version: 1 });

/** Never called: only its types are looked at. */
const types = (_: (step: Step) => unknown) => {};
declare function gives<T>(): T;

describe("the result of a step", () => {
  test("is refused where it cannot be stored", () => {
    types(async (step) => {
      const url = "https://example.com";
      // @ts-expect-error: its body was not read
      await step.run("a response", () => fetch(url));
      // @ts-expect-error: its body was not read
      await step.run("a response", async ({ abortSignal }) => {
        const response = await fetch(url, { signal: abortSignal });
        return response;
      });
      // @ts-expect-error: code
      await step.run("a function", () => () => 1);
      // @ts-expect-error: code
      await step.run("a class", () => Money);
      // @ts-expect-error: another process has another one
      await step.run("a symbol", () => Symbol("mine"));
      // @ts-expect-error: its class would be lost
      await step.run("an object with methods", () => new Money());
      // @ts-expect-error: its class would be lost
      await step.run("a regular expression", () => /x/);
      // @ts-expect-error: one of both
      await step.run("a union", () => (step.random() < 0.5 ? undefined : new Money()));
      // @ts-expect-error: somewhere inside
      await step.run("a member", async () => ({ id: "m1", price: { net: { exact: new Money() } } }));
      // @ts-expect-error: somewhere inside
      await step.run("an item", () => [new Money()]);
      // @ts-expect-error: nobody awaits it
      await step.run("a promise", () => ({ user: Promise.resolve("Ada") }));
      // @ts-expect-error: in a recursive type
      await step.run("a tree", () => gives<LivelyTree>());
    });
  });

  test("is refused by a sentence that says why", () => {
    expectTypeOf<Storable<Response>>().toEqualTypeOf<
      CannotBeStored<"A response cannot be stored. Read its body first, with `await response.json()`, and return that.">
    >();
    expectTypeOf<Storable<string | (() => void)>>().toEqualTypeOf<
      CannotBeStored<"A function cannot be stored. Leave it out: only data can be stored.">
    >();
    expectTypeOf<Storable<{ id: string; price: Money }>>().toEqualTypeOf<
      CannotBeStored<'The member "price" cannot be stored: only data can be stored, no functions and no objects with methods.'>
    >();
    expectTypeOf<Storable<Money[]>>().toEqualTypeOf<
      CannotBeStored<"An item of the list cannot be stored. An object with functions cannot be stored. Return a plain object with the fields you need.">
    >();
    expectTypeOf<Storable<Promise<string> | string>>().toEqualTypeOf<
      CannotBeStored<"A promise cannot be stored. Write `await` before what makes it.">
    >();
    expectTypeOf<Storable<symbol>>().toEqualTypeOf<CannotBeStored<"A symbol cannot be stored. Use a text instead.">>();
  });

  test("keeps its type where it can be stored", () => {
    types(async (step) => {
      const order = await step.run("object", async () => ({ id: "o1", at: new Date(0), tags: ["a"] as const }));
      expectTypeOf(order).toEqualTypeOf<{ id: string; at: Date; tags: readonly ["a"] }>();
      const rich = await step.run("rich", () => ({
        bytes: Buffer.from("a"),
        problem: new TypeError("x"),
        url: new URL("https://example.com"),
        names: gives<ReadonlySet<string>>(),
        count: 1n,
        prices: new Map([["a", 1]]),
      }));
      expectTypeOf(rich.prices).toEqualTypeOf<Map<string, number>>();
      expectTypeOf(await step.run("tree", () => gives<Tree>())).toEqualTypeOf<Tree>();
      expectTypeOf(await step.run("json", async () => gives<Json>())).toEqualTypeOf<Json>();
      expectTypeOf(await step.run("record", () => gives<Record<string, unknown>>())).toEqualTypeOf<
        Record<string, unknown>
      >();
      expectTypeOf(await step.run("brands", () => gives<Branded<string[]>>())).toEqualTypeOf<Branded<string[]>>();
      expectTypeOf(await step.run("brand", () => gives<Branded<{ id: string }>>())).toEqualTypeOf<
        Branded<{ id: string }>
      >();
      expectTypeOf(await step.run("maybe", () => gives<{ id?: string } | null>())).toEqualTypeOf<{
        id?: string;
      } | null>();
      expectTypeOf(await step.run("either", () => gives<string | Promise<string>>())).toEqualTypeOf<string>();
      expectTypeOf(await step.run("never", (): never => gives<never>())).toEqualTypeOf<never>();
    });
  });

  test("passes where the compiler cannot know", () => {
    types(async (step) => {
      expectTypeOf(await step.run("unknown", () => gives<unknown>())).toEqualTypeOf<unknown>();
      expectTypeOf(await step.run("any", async () => JSON.parse("1"))).toBeAny();
      expectTypeOf(await step.run("member", () => ({ parsed: JSON.parse("1") })).then((r) => r.parsed)).toBeAny();
      await step.run("object", () => gives<object>());
      await step.run("either", () => gives<{ customer: string | Money | null }>());
      await step.run("in a map", () => new Map([["a", new Money()]]));
    });
  });

  test("may be a type parameter of the user's own helper", () => {
    types((step) => {
      const given = <T>(body: () => Promise<T>): Promise<T> => step.run("a", body);
      const plain = <T>(body: () => T): Promise<T> => step.run("a", () => body());
      const bound = <T extends { id: string }>(body: () => Promise<T>): Promise<T> => step.run("a", body);
      const list = <T>(body: () => Promise<T[]>): Promise<T[]> => step.run("a", async () => await body());
      const member = <T>(body: () => Promise<T>): Promise<{ data: T }> =>
        step.run("a", async () => ({ data: await body() }));
      return [given, plain, bound, list, member];
    });
  });
});

test("what map, all, scope and race give is not stored, and may be anything", () => {
  types(async (step) => {
    const moneys = await step.map("map", [1], async () => new Money());
    expectTypeOf(moneys).toEqualTypeOf<Money[]>();
    expectTypeOf(await step.scope("scope", async () => (count: number) => count)).toEqualTypeOf<
      (count: number) => number
    >();
    expectTypeOf(await step.all("all", [async () => new Money()])).toEqualTypeOf<readonly [Money]>();
    expectTypeOf(await step.race("race", [async () => new Money()])).toEqualTypeOf<Money>();
  });
});

describe("a contract", () => {
  test("refuses schemas of what cannot be stored", () => {
    types(() => [
      // @ts-expect-error: a response
      workflow({ name: "a", version: 1, input: z.instanceof(Response) }),
      // @ts-expect-error: an object with methods
      workflow({ name: "a", version: 1, output: z.object({ price: z.instanceof(Money) }) }),
      // @ts-expect-error: a function
      workflow({ name: "a", version: 1, signals: { good: z.string(), bad: z.custom<() => void>() } }),
      // @ts-expect-error: a symbol
      workflow({ name: "a", version: 1, callbacks: { bad: z.symbol() } }),
    ]);
  });

  test("takes a schema that makes something storable of what is not", () => {
    const status = z.instanceof(Response).transform((response) => response.status);
    types(() => workflow({ name: "a", version: 1, output: status }).handler(async () => new Response()));
  });

  test("takes a schema that is a type parameter of the user's own helper", () => {
    types(() => <S extends Schema>(schema: S) => {
      const schemas = { name: schema };
      return workflow({ name: "a", version: 1, input: schema, output: schema, signals: schemas, callbacks: schemas });
    });
  });
});

describe("the result of a workflow without an output schema", () => {
  test("is refused where it cannot be stored", () => {
    types(() => [
      // @ts-expect-error: its body was not read
      bare.handler(async () => fetch("https://example.com")),
      // @ts-expect-error: one of both
      bare.handler(async ({ step }) => (step.random() < 0.5 ? "a" : new Money())),
    ]);
  });

  test("passes otherwise", () => {
    types(() => [
      bare.handler(async ({ step }) => (step.random() < 0.5 ? { id: "a" } : undefined)),
      bare.handler(async () => gives<unknown>()),
      bare.handler(async () => gives<never>()),
      <T>(body: () => Promise<T>) => bare.handler(async ({ step }) => step.run("a", body)),
    ]);
  });
});

test("an output schema gives a handler's result its texts and tuples", () => {
  const output = z.object({ status: z.enum(["sent", "lost"]), pair: z.tuple([z.string(), z.number()]).optional() });
  types(() => [
    workflow({ name: "a", version: 1, output }).handler(async () => ({ status: "sent", pair: ["x", 1] })),
    // @ts-expect-error: no such status
    workflow({ name: "a", version: 1, output }).handler(async () => ({ status: "gone" })),
  ]);
});
