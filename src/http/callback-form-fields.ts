/** The fields of the form by which a person answers a callback. They are made from the callback's schema. */
import { isRecord } from "../core/codec/tag-checks.ts";
import type { Schema } from "../core/contract/schema.ts";
import { type Shape, shapeOf } from "../core/contract/schema-shape.ts";

export type FieldKind = "boolean" | "choice" | "text" | "number" | "date" | "date-time" | "json";

/** One value that is asked for. */
export interface Field {
  /** The property's name. Undefined: the field is the whole answer. */
  readonly property: string | undefined;
  readonly label: string;
  readonly description: string | undefined;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  /** Whether an empty field means null. */
  readonly isNullable: boolean;
  /** The values to choose from, for a choice. */
  readonly choices: readonly unknown[];
  readonly shape: Shape;
}

const mostFields = 30;
const mostChoices = 50;

/** Makes the fields. Undefined: no form can be made of the schema, so the answer is written as JSON. */
export function fieldsOf(schema: Schema | undefined): readonly Field[] | undefined {
  const shape = schema && shapeOf(schema);
  if (shape === undefined) return undefined;
  const { properties } = shape;
  if (shape["type"] !== "object") {
    const field = fieldOf(undefined, shape, true);
    return field.kind === "json" ? undefined : [field];
  }
  if (!isRecord(properties)) return undefined;
  const names = Object.keys(properties);
  if (names.length === 0 || names.length > mostFields) return undefined;
  const required: readonly unknown[] = Array.isArray(shape["required"]) ? shape["required"] : [];
  return names.map((name) => {
    const property = properties[name];
    return fieldOf(name, isRecord(property) ? property : {}, required.includes(name));
  });
}

function fieldOf(property: string | undefined, given: Shape, isRequired: boolean): Field {
  const shape = withoutNull(given);
  const title = textIn(given, "title") ?? textIn(shape, "title");
  const { kind, choices } = kindOf(shape);
  return {
    property,
    label: title ?? (property === undefined ? "Your answer" : wordsOf(property)),
    description: textIn(given, "description") ?? textIn(shape, "description"),
    kind,
    isRequired: isRequired && shape === given && given["default"] === undefined,
    isNullable: shape !== given,
    choices,
    shape,
  };
}

/** Takes null out of `{ anyOf: [X, null] }` and `{ type: [X, "null"] }`: an empty field means null. */
function withoutNull(shape: Shape): Shape {
  const { anyOf, type } = shape;
  if (Array.isArray(anyOf)) {
    const [only, ...more] = anyOf.filter((each) => !(isRecord(each) && each["type"] === "null"));
    return more.length === 0 && anyOf.length > 1 && isRecord(only) ? only : shape;
  }
  if (!Array.isArray(type) || !type.includes("null")) return shape;
  const [only, ...more] = type.filter((each) => each !== "null");
  return more.length === 0 ? { ...shape, type: only } : shape;
}

function kindOf(shape: Shape): { readonly kind: FieldKind; readonly choices: readonly unknown[] } {
  const choices: readonly unknown[] = Array.isArray(shape["enum"]) ? shape["enum"] : [];
  const isShort = choices.length > 0 && choices.length <= mostChoices;
  if (isShort && choices.every((each) => typeof each === "string" || typeof each === "number")) {
    return { kind: "choice", choices };
  }
  return { kind: choices.length > 0 ? "json" : plainKindOf(shape), choices: [] };
}

function plainKindOf({ type, format }: Shape): FieldKind {
  if (type === "boolean") return "boolean";
  if (type === "number" || type === "integer") return "number";
  if (type !== "string") return "json";
  if (format === "date" || format === "date-time") return format;
  return format === "datetime" ? "date-time" : "text";
}

/** Makes "Amount paid" of `amountPaid` or `amount_paid`. */
function wordsOf(name: string): string {
  const words = name
    .replace(/[_-]+/g, " ")
    .replace(/(\p{Ll})(\p{Lu})/gu, (_, end, start) => `${end} ${start.toLowerCase()}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

export function textIn(shape: Shape, key: string): string | undefined {
  const value = shape[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function numberIn(shape: Shape, key: string): number | undefined {
  const value = shape[key];
  return typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
}
