/**
 * Finds out what a schema takes, as JSON Schema. The schema itself tells it, if it can
 * (https://standardschema.dev/json-schema). Otherwise it is read from zod's own definition, since zod/mini leaves the
 * conversion out of a bundle.
 */
import { isRecord } from "../codec/tag-checks.ts";
import type { Schema } from "./schema.ts";

/** A JSON Schema as some schema library writes it. Each part is checked where it is used. */
export type Shape = Readonly<Record<string, unknown>>;

const target = "draft-2020-12";

/** The shape of a schema. Undefined: nothing is known of it. */
export function shapeOf(schema: Schema): Shape | undefined {
  return standardShape(schema, "input") ?? zodShape(schema);
}

/** The shape that the schema itself tells: of what it takes, or of what it makes. */
export function standardShape(schema: Schema, of: "input" | "output", libraryOptions?: Shape): Shape | undefined {
  const standard: Shape = { ...schema["~standard"] };
  const convert = isRecord(standard["jsonSchema"]) ? standard["jsonSchema"][of] : undefined;
  try {
    const shape: unknown = typeof convert === "function" ? convert({ target, libraryOptions }) : undefined;
    return isRecord(shape) ? shape : undefined;
  } catch {
    return undefined; // something in it has no counterpart in JSON, such as z.date()
  }
}

/** Reads a part of a definition before it is read here. Undefined: it is read here. */
export type ReadDefinition = (def: object, inner: (part: unknown) => Shape) => Shape | undefined;

/**
 * Reads a definition of zod (https://zod.dev/library-authors says where it is). A part that is not known here becomes
 * `{}`, which takes anything. So does a part that holds itself.
 */
export function zodShape(schema: unknown, read?: ReadDefinition, above: readonly unknown[] = []): Shape | undefined {
  if (above.includes(schema)) return {};
  const zod = isObject(schema) ? Reflect.get(schema, "_zod") : undefined;
  const def = isObject(zod) ? Reflect.get(zod, "def") : undefined;
  if (!isObject(def)) return undefined;
  const inner = (part: unknown) => zodShape(part, read, [...above, schema]) ?? {};
  const shape = read?.(def, inner) ?? shapeOfDefinition(def, Reflect.get(Object(zod), "bag"), inner);
  return { ...shape, ...metaOf(schema) };
}

function shapeOfDefinition(def: object, bag: unknown, shapeOfPart: (part: unknown) => Shape): Shape {
  const of = (key: string): unknown => Reflect.get(def, key);
  const inner = () => shapeOfPart(of("innerType"));
  switch (of("type")) {
    case "boolean":
    case "null":
      return { type: of("type") };
    case "string":
      return {
        type: "string",
        format: of("format"),
        minLength: inBag(bag, "minimum"),
        maxLength: inBag(bag, "maximum"),
      };
    case "number": {
      const type = /int/.test(String(inBag(bag, "format"))) ? "integer" : "number";
      return { type, minimum: inBag(bag, "minimum"), maximum: inBag(bag, "maximum") };
    }
    case "date":
      return { type: "string", format: "date-time", isDate: true };
    case "enum":
      return { enum: Object.values(Object(of("entries"))) };
    case "literal":
      return { enum: of("values") };
    case "nullable":
      return { anyOf: [inner(), { type: "null" }] };
    case "default":
    case "prefault":
      return { ...inner(), default: of("defaultValue") };
    case "optional":
    case "readonly":
    case "nonoptional":
      return inner();
    case "pipe":
      return shapeOfPart(of("in"));
    case "array":
      return { type: "array", items: shapeOfPart(of("element")) };
    case "object": {
      const properties = Object.entries(Object(of("shape")));
      return {
        type: "object",
        properties: Object.fromEntries(properties.map(([name, property]) => [name, shapeOfPart(property)])),
        required: properties.filter(([, property]) => !mayBeLeftOut(property, "optin")).map(([name]) => name),
      };
    }
    default:
      return {};
  }
}

/** `optin`: what is given may lack the property. `optout`: so may what the schema makes of it. */
export function mayBeLeftOut(property: unknown, which: "optin" | "optout"): boolean {
  const zod = isObject(property) ? Reflect.get(property, "_zod") : undefined;
  return isObject(zod) && Reflect.get(zod, which) !== undefined; // "optional", or since zod 4.6 "defaulted"
}

function inBag(bag: unknown, key: string): unknown {
  return isObject(bag) ? Reflect.get(bag, key) : undefined;
}

/** What was given to `register(z.globalRegistry, { title, description, examples })`. */
function metaOf(schema: unknown): Shape {
  const registry: unknown = Reflect.get(globalThis, "__zod_globalRegistry");
  const get = isObject(registry) ? Reflect.get(registry, "get") : undefined;
  const meta: unknown = typeof get === "function" ? get.call(registry, schema) : undefined;
  return isRecord(meta) ? { title: meta["title"], description: meta["description"], examples: meta["examples"] } : {};
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
