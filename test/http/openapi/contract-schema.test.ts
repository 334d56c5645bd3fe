import * as v from "valibot";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as mini from "zod/mini";
import type { Schema } from "../../../src/core/contract/schema.ts";
import { jsonSchemaOf, mayBeMissing } from "../../../src/http/openapi/contract-schema.ts";

/** Both libraries of zod, since zod/mini does not tell the shape of a schema itself. */
describe.each([
  ["zod", z],
  ["zod/mini", mini],
])("a schema of %s", (_, lib) => {
  const both = (schema: Schema) => [jsonSchemaOf(schema, "input"), jsonSchemaOf(schema, "output")];

  it("of plain JSON is the same both ways", () => {
    const schema = lib.object({
      id: lib.string(),
      size: lib.union([lib.number(), lib.array(lib.string())]),
      tags: lib.record(lib.string(), lib.array(lib.boolean())),
      note: lib.optional(lib.nullable(lib.string())),
      whatever: lib.unknown(),
    });
    for (const shape of both(schema)) {
      expect(shape).toMatchObject({
        type: "object",
        properties: {
          id: { type: "string" },
          size: { anyOf: [{ type: "number" }, { type: "array", items: { type: "string" } }] },
          tags: { type: "object", additionalProperties: { type: "array", items: { type: "boolean" } } },
          whatever: {},
        },
      });
      expect(shape["required"]).toEqual(expect.arrayContaining(["id", "size", "tags"]));
      expect(shape["required"]).not.toContain("note");
    }
  });

  it("with a default must be given less than it answers", () => {
    const [input, output] = both(lib.object({ amount: lib._default(lib.number(), 1) }));
    expect(input?.["required"] ?? []).toEqual([]);
    expect(output).toMatchObject({ required: ["amount"] });
  });

  it("that makes something else of what it is given has another shape each way", () => {
    const [input, output] = both(lib.pipe(lib.string(), lib.pipe(lib.transform(Number), lib.number())));
    expect(input).toMatchObject({ type: "string" });
    expect(output).toMatchObject({ type: "number" });
  });

  it("shows a Date as what plain JSON has of it, and takes anything where JSON has none", () => {
    const [input, output] = both(lib.object({ at: lib.date(), big: lib.bigint(), some: lib.set(lib.string()) }));
    const note = (type: string) => ({
      description: `A ${type}: JSON has none, so only layover's own client can send it.`,
    });
    expect(input?.["properties"]).toEqual({ at: note("date"), big: note("bigint"), some: note("set") });
    expect(output?.["properties"]).toEqual({
      at: { description: "A Date, as ISO 8601.", type: "string", format: "date-time" },
      big: { description: "A bigint, as its digits.", type: "string", pattern: "^-?[0-9]+$" },
      some: { description: "A Set, as a list.", type: "array", items: {} },
    });
  });
});

it("of a tuple of zod/mini names its items, and a schema that holds itself ends", () => {
  const pair = mini.tuple([mini.string(), mini.number()]);
  const prefixItems = [{ type: "string" }, { type: "number" }];
  expect(jsonSchemaOf(pair, "input")).toMatchObject({ type: "array", prefixItems, items: false });
  const Tree = mini.object({
    get children() {
      return mini.array(Tree);
    },
  });
  expect(jsonSchemaOf(Tree, "input")).toMatchObject({ properties: { children: { type: "array", items: {} } } });
});

describe("a schema of another library", () => {
  it("takes anything, with a note, if it does not tell its shape", () => {
    const note = { description: "The library of this schema does not tell its shape." };
    expect(jsonSchemaOf(v.object({ id: v.string() }), "input")).toEqual(note);
  });

  it("is shown as it tells itself", () => {
    const standard = v.string()["~standard"];
    const jsonSchema = { input: () => ({ type: "string" }), output: () => ({ type: "number" }) };
    const schema = { "~standard": { ...standard, jsonSchema } };
    expect(jsonSchemaOf(schema, "input")).toEqual({ type: "string" });
    expect(jsonSchemaOf(schema, "output")).toEqual({ type: "number" });
  });
});

it("tells what may be left out, without trying the schema", () => {
  expect([z.string(), z.object({})].map(mayBeMissing)).toEqual([false, false]);
  expect([z.string().optional(), z.string().default("a"), z.unknown()].map(mayBeMissing)).toEqual([true, true, true]);
});
