/**
 * The JSON Schema of a schema of a contract, for both ways: what a program gives, and what it gets as plain JSON. What JSON
 * Schema cannot show becomes `{}`, which allows everything, with a note.
 */
import { isRecord } from "../../core/codec/tag-checks.ts";
import type { Schema } from "../../core/contract/schema.ts";
import { mayBeLeftOut, type Shape, standardShape, zodShape } from "../../core/contract/schema-shape.ts";
import { described, instant, type JsonSchema, list } from "./schema.ts";

/** `input`: what is given to the schema. `output`: what it makes of it. */
export type Way = "input" | "output";

export function jsonSchemaOf(schema: Schema, way: Way): JsonSchema {
  const { $schema: _, ...shape } = shapeOf(schema, way);
  return shape;
}

function shapeOf(schema: Schema, way: Way): Shape {
  const unrepresentable = ({ zodSchema }: { readonly zodSchema: unknown }) => unshown(typeOf(zodSchema), way);
  return (
    standardShape(schema, way, { unrepresentable }) ??
    zodShape(schema, (def, inner) => furtherShape(def, inner, way)) ??
    described("The library of this schema does not tell its shape.", {})
  );
}

/**
 * Whether it may be left out, as far as the schema tells. It is not tried, since that would run code of the user.
 */
export function mayBeMissing(schema: Schema): boolean {
  return mayBeLeftOut(schema, "optin") || Object.keys(jsonSchemaOf(schema, "input")).length === 0;
}

/** Reads what the form of a callback has no use for, of zod/mini. */
function furtherShape(def: object, inner: (part: unknown) => Shape, way: Way): Shape | undefined {
  const of = (key: string): unknown => Reflect.get(def, key);
  const parts = (key: string): readonly Shape[] => Object.values(Object(of(key))).map(inner);
  const type = of("type");
  switch (type) {
    case "any":
    case "unknown":
      return {};
    case "union":
      return { anyOf: parts("options") };
    case "intersection":
      return { allOf: [inner(of("left")), inner(of("right"))] };
    case "record":
      return { type: "object", additionalProperties: inner(of("valueType")) };
    case "tuple": {
      const rest = of("rest");
      const prefixItems = parts("items");
      return { type: "array", prefixItems, items: rest === null || rest === undefined ? false : inner(rest) };
    }
    case "template_literal":
      return { type: "string" };
    case "lazy": {
      const getter = of("getter");
      return typeof getter === "function" ? inner(getter()) : {};
    }
    case "catch":
      return inner(of("innerType"));
    case "default":
    case "prefault":
      return way === "input" ? undefined : inner(of("innerType"));
    case "pipe":
      return inner(of(way === "input" ? "in" : "out"));
    case "object": {
      const properties = Object.entries(Object(of("shape")));
      const which = way === "input" ? "optin" : "optout";
      return {
        type: "object",
        properties: Object.fromEntries(properties.map(([name, property]) => [name, inner(property)])),
        required: properties.filter(([, property]) => !mayBeLeftOut(property, which)).map(([name]) => name),
      };
    }
    default:
      return unshownTypes.has(String(type)) ? unshown(String(type), way) : undefined;
  }
}

const unshownTypes = new Set(
  ["date", "bigint", "map", "set", "nan", "undefined", "void", "symbol", "function", "custom", "transform", "file"], //
);

/** What JSON has none of, as plain-json.ts writes it. A program that sends plain JSON cannot give it. */
function unshown(type: string, way: Way): JsonSchema {
  if (way === "input") {
    if (type === "transform" || type === "custom") return described("What it takes is not known.", {});
    if (type === "undefined" || type === "void") return described("It is left out.", {});
    return described(`A ${type}: JSON has none, so only layover's own client can send it.`, {});
  }
  switch (type) {
    case "date":
      return described("A Date, as ISO 8601.", instant);
    case "bigint":
      return described("A bigint, as its digits.", { type: "string", pattern: "^-?[0-9]+$" });
    case "map":
      return described("A Map, as a list of keys with their values.", list(list({})));
    case "set":
      return described("A Set, as a list.", list({}));
    case "nan":
      return described("NaN, as null.", { type: "null" });
    default:
      return described("JSON Schema cannot describe what it is.", {});
  }
}

function typeOf(zodSchema: unknown): string {
  const zod: unknown = Reflect.get(Object(zodSchema), "_zod");
  const def = isRecord(zod) ? zod["def"] : undefined;
  return isRecord(def) ? String(def["type"]) : "value";
}
