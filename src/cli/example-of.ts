/**
 * An example of what a schema takes, for schemas that tell of themselves by Standard JSON Schema
 * (https://standardschema.dev/json-schema), as zod's do: the first of its `examples`, else one made of its types.
 */
import type { Schema } from "../core/schema.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

/** Undefined if there is no telling. */
export function exampleOf(schema: Schema | undefined): unknown {
  const jsonSchema = schema && jsonSchemaOf(schema);
  return jsonSchema && made(jsonSchema);
}

function jsonSchemaOf({ "~standard": standard }: Schema): JsonSchema | undefined {
  const converter: unknown = Reflect.get(standard, "jsonSchema");
  if (!isObject(converter) || typeof converter["input"] !== "function") return undefined;
  try {
    const jsonSchema: unknown = converter["input"]({ target: "draft-2020-12" });
    return isObject(jsonSchema) ? jsonSchema : undefined;
  } catch {
    return undefined; // a type that JSON cannot say, such as a date
  }
}

function made(schema: JsonSchema): unknown {
  const { examples, anyOf, oneOf, items, type } = schema;
  for (const choices of [examples, schema["enum"]]) if (Array.isArray(choices) && choices.length > 0) return choices[0];
  for (const given of ["default", "const"]) if (given in schema) return schema[given];
  for (const choices of [anyOf, oneOf]) if (Array.isArray(choices) && isObject(choices[0])) return made(choices[0]);
  switch (Array.isArray(type) ? type[0] : type) {
    case "object":
      return madeObject(schema);
    case "array":
      return isObject(items) ? [made(items)] : [];
    case "string":
      return "…";
    case "number":
    case "integer":
      return 1;
    case "boolean":
      return true;
    default:
      return null;
  }
}

function madeObject({ properties, required }: JsonSchema): unknown {
  if (!isObject(properties) || !Array.isArray(required)) return {};
  const needed = Object.entries(properties).filter(([name]) => required.includes(name));
  return Object.fromEntries(needed.map(([name, property]) => [name, isObject(property) ? made(property) : null]));
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
