import * as v from "valibot";
import { expect, test } from "vitest";
import * as z from "zod";
import * as mini from "zod/mini";
import { exampleOf } from "../../src/cli/dev/example-of.ts";

test.each([
  ["the first of its examples", z.object({ a: z.string() }).meta({ examples: [{ a: "b" }] }), { a: "b" }],
  ["what an object needs", z.object({ a: z.string(), b: z.number().optional(), c: z.boolean() }), { a: "a", c: true }],
  ["the same of zod/mini", mini.object({ a: mini.string(), b: mini.optional(mini.number()) }), { a: "a" }],
  ["a list of zod/mini with one item", mini.object({ items: mini.array(mini.string()) }), { items: ["items"] }],
  ["a list with one item", z.array(z.object({ n: z.int() })), [{ n: 1 }]],
  ["the first of several values", z.enum(["x", "y"]), "x"],
  ["a value that is always the same", z.literal(7), 7],
  ["the first of several types", z.union([z.string(), z.number()]), "…"],
  ["null for whatever it likes", z.unknown(), null],
])("the example of a schema is %s", (_, schema, example) => {
  expect(exampleOf(schema)).toEqual(example);
});

test("there is no example of what JSON cannot say, of a schema that does not tell, and of none", () => {
  expect(exampleOf(z.date())).toBeUndefined();
  expect(exampleOf(mini.object({ at: mini.date() }))).toBeUndefined();
  expect(exampleOf(v.string())).toBeUndefined();
  expect(exampleOf(undefined)).toBeUndefined();
});
