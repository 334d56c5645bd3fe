import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import * as z from "zod";
import {
  type InferInput,
  type InferOutput,
  parse,
  type Schema,
  type SchemaIssue,
} from "../../../src/core/contract/schema.ts";

const order = { code: "invalid_input", what: 'the input of "order"' } as const;

function schemaWith(issues: readonly SchemaIssue[]): Schema {
  return { "~standard": { version: 1, vendor: "test", validate: () => ({ issues }) } };
}

describe("parse", () => {
  it("answers what the schema makes of the value, whoever made the schema", async () => {
    const withZod = z.object({ amount: z.string().transform(Number) });
    const withValibot = v.object({ amount: v.pipe(v.string(), v.transform(Number)) });
    expect(await parse(withZod, { amount: "5" }, order)).toEqual({ amount: 5 });
    expect(await parse(withValibot, { amount: "5" }, order)).toEqual({ amount: 5 });
  });

  it("waits for a schema that takes its time", async () => {
    const schema = z.string().refine(async (text) => text === "free");
    expect(await parse(schema, "free", order)).toBe("free");
    await expect(parse(schema, "taken", order)).rejects.toThrow("does not fit its schema");
  });

  it("says what is wrong and where", async () => {
    const schema = z.object({ amount: z.number().positive(), items: z.array(z.object({ sku: z.string() })) });
    await expect(parse(schema, { amount: -1, items: [{ sku: "a" }, {}] }, order)).rejects.toThrow(
      expect.objectContaining({
        code: "invalid_input",
        message:
          'the input of "order" does not fit its schema: amount: Too small: expected number to be >0; ' +
          "items[1].sku: Invalid input: expected string, received undefined",
        hint: "Give a value that fits the schema in the workflow's contract.",
        details: { issues: 2, path: "amount" },
      }),
    );
  });

  it("has the caller's code", async () => {
    const payload = { code: "invalid_payload", what: 'the signal "address"' } as const;
    await expect(parse(z.string(), 5, payload)).rejects.toMatchObject({ code: "invalid_payload" });
  });

  it("needs no path where the value itself is wrong", async () => {
    await expect(parse(v.string(), 5, order)).rejects.toMatchObject({
      message: 'the input of "order" does not fit its schema: Invalid type: Expected string but received 5',
      details: { issues: 1, path: "" },
    });
  });

  it("lists five issues and counts the others", async () => {
    const issues = Array.from({ length: 7 }, (_, index) => ({ message: "no", path: [index] }));
    await expect(parse(schemaWith(issues), 5, order)).rejects.toMatchObject({
      message: 'the input of "order" does not fit its schema: [0]: no; [1]: no; [2]: no; [3]: no; [4]: no; and 2 more',
      details: { issues: 7, path: "[0]" },
    });
    await expect(parse(schemaWith(issues.slice(0, 5)), 5, order)).rejects.toThrow(/\[4]: no$/);
  });

  it("reads paths of every shape the standard allows", async () => {
    const path = ["a b", { key: "c" }, 0, Symbol("d"), { key: 1 }];
    await expect(parse(schemaWith([{ message: "no", path }]), 5, order)).rejects.toThrow(
      '["a b"].c[0][Symbol(d)][1]: no',
    );
  });

  it("cuts what a schema says at length, and copes with one that says nothing", async () => {
    await expect(parse(schemaWith([{ message: "x".repeat(1_000) }]), 5, order)).rejects.toThrow(/schema: x{200}$/);
    await expect(parse(schemaWith([]), 5, order)).rejects.toMatchObject({ details: { issues: 0, path: "" } });
  });

  it("blames the value for a schema that throws, and keeps what it threw", async () => {
    const schema = z.string().transform((text) => new URL(text));
    await expect(parse(schema, "nowhere", order)).rejects.toMatchObject({
      code: "invalid_input",
      message: 'the input of "order" could not be checked: its schema threw an error',
      hint: "Let the schema report an issue instead of throwing, in its transforms and refinements too.",
      cause: { code: "ERR_INVALID_URL" },
    });
  });

  it("gives types without annotation", () => {
    const schema = z.object({ amount: z.string().transform(Number) });
    expectTypeOf<InferInput<typeof schema>>().toEqualTypeOf<{ amount: string }>();
    expectTypeOf<InferOutput<typeof schema>>().toEqualTypeOf<{ amount: number }>();
    const other = v.optional(v.string());
    expectTypeOf<InferOutput<typeof other>>().toEqualTypeOf<string | undefined>();
    expectTypeOf(parse<{ amount: number }>).returns.resolves.toEqualTypeOf<{ amount: number }>();
    expectTypeOf(async () => parse(schema, 5, order)).returns.resolves.toEqualTypeOf<{ amount: number }>();
  });
});
