/** Small builders of JSON Schema (draft 2020-12), which OpenAPI 3.1 uses as it is. */

export type JsonSchema = { readonly [keyword: string]: unknown };

/** A property that may be missing. */
interface Optional {
  readonly optional: JsonSchema;
}

/** What each field of a view is as JSON. A field that may be undefined is left out of JSON, so it is optional. */
type PropertiesOf<View> = {
  readonly [Field in keyof View]-?: undefined extends View[Field] ? Optional : JsonSchema;
};

/** Describes a view field by field, so a new field of the view is a type error until it is described. */
export function object<View>(properties: PropertiesOf<View>): JsonSchema {
  const fields = Object.entries<JsonSchema | Optional>(properties);
  return {
    type: "object",
    properties: Object.fromEntries(fields.map(([name, field]) => [name, isOptional(field) ? field.optional : field])),
    required: fields.filter(([, field]) => !isOptional(field)).map(([name]) => name),
  };
}

export function optional(schema: JsonSchema): Optional {
  return { optional: schema };
}

function isOptional(field: JsonSchema | Optional): field is Optional {
  return "optional" in field;
}

export function ref(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

export function list(items: JsonSchema): JsonSchema {
  return { type: "array", items };
}

/** An object with any names, all of whose values are alike. */
export function record(values: JsonSchema): JsonSchema {
  return { type: "object", additionalProperties: values };
}

export function oneOf(...values: readonly (string | number)[]): JsonSchema {
  return { type: typeof values[0] === "number" ? "integer" : "string", enum: values };
}

export function described(description: string, schema: JsonSchema): JsonSchema {
  return { ...schema, description };
}

/** The schema, or null. */
export function nullable(schema: JsonSchema): JsonSchema {
  const { type } = schema;
  const isPlain = typeof type === "string" && type !== "object" && schema["enum"] === undefined;
  if (isPlain) return { ...schema, type: [type, "null"] };
  return { anyOf: [schema, { type: "null" }] };
}

export const text: JsonSchema = { type: "string" };
export const integer: JsonSchema = { type: "integer" };
export const flag: JsonSchema = { type: "boolean" };
export const instant: JsonSchema = { type: "string", format: "date-time" };
export const uuid: JsonSchema = { type: "string", format: "uuid" };

/** Any value as plain JSON. */
export const anything: JsonSchema = {};
