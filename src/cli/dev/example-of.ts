/**
 * Makes an example of what a schema takes, where the schema describes itself (see core/contract/schema-shape.ts). It is the
 * first of the schema's `examples`. Without any, it is made from the types, and each text is the name of its field.
 */
import type { Schema } from "../../core/contract/schema.ts";
import { type Shape, shapeOf } from "../../core/contract/schema-shape.ts";

/** Undefined: nothing is known of the schema, or it takes a Date, which JSON does not have. */
export function exampleOf(schema: Schema | undefined): unknown {
  const shape = schema && shapeOf(schema);
  return shape === undefined || hasDate(shape) ? undefined : made(shape, "…");
}

function hasDate(shape: unknown): boolean {
  return isObject(shape) && (shape["isDate"] === true || Object.values(shape).some(hasDate));
}

function made(schema: Shape, name: string): unknown {
  const { examples, anyOf, oneOf, items, type } = schema;
  for (const choices of [examples, schema["enum"]]) if (Array.isArray(choices) && choices.length > 0) return choices[0];
  for (const given of ["default", "const"]) if (given in schema) return schema[given];
  for (const choices of [anyOf, oneOf])
    if (Array.isArray(choices) && isObject(choices[0])) return made(choices[0], name);
  switch (Array.isArray(type) ? type[0] : type) {
    case "object":
      return madeObject(schema);
    case "array":
      return isObject(items) ? [made(items, name)] : [];
    case "string":
      return name;
    case "number":
    case "integer":
      return 1;
    case "boolean":
      return true;
    default:
      return null;
  }
}

function madeObject({ properties, required }: Shape): unknown {
  if (!isObject(properties) || !Array.isArray(required)) return {};
  const needed = Object.entries(properties).filter(([name]) => required.includes(name));
  return Object.fromEntries(needed.map(([name, property]) => [name, isObject(property) ? made(property, name) : null]));
}

function isObject(value: unknown): value is Shape {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
