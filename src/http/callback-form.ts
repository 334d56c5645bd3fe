/** Reads the answer that a person has filled in, and says in plain words what is wrong with each field. */
import { keysOf, type Schema, type SchemaIssue } from "../core/contract/schema.ts";
import { formatPath } from "../core/value-path.ts";
import { type Field, numberIn, textIn } from "./callback-form-fields.ts";

/** The texts of a form's fields, by their names. */
export type Filled = ReadonlyMap<string, readonly string[]>;

/** The field that tells our own form from one that a program sends. */
export const ownForm = "layover-form";

/**
 * The name of the field's input. A form that a program sends may have fields of any name; all of ours begin with
 * "answer".
 */
export function inputName({ property }: Field): string {
  return property === undefined ? "answer" : `answer.${property}`;
}

/** What is wrong, by the name of the field's input. Under `""`: what is wrong with the answer as a whole. */
export type FieldErrors = ReadonlyMap<string, string>;

export interface FormAnswer {
  readonly value: unknown;
  readonly errors: FieldErrors;
}

interface Asked {
  readonly fields: readonly Field[];
  readonly schema: Schema;
  /** Whether nothing is said of the answer: the messages and places of a schema may repeat parts of it. */
  readonly isSensitive: boolean;
}

/** Makes the answer. Never throws because of what a person has written. */
export async function answerIn(filled: Filled, { fields, schema, isSensitive }: Asked): Promise<FormAnswer> {
  const errors = new Map<string, string>();
  const values = fields.map((field): [Field, unknown] => {
    const text = filled.get(inputName(field))?.[0]?.trim() ?? "";
    try {
      return [field, filledValue(field, text)];
    } catch {
      errors.set(inputName(field), "This is not JSON. Write texts and names in double quotes.");
      return [field, undefined];
    }
  });
  const [whole] = values;
  const value =
    whole?.[0].property === undefined
      ? whole?.[1]
      : Object.fromEntries(
          values.filter(([, each]) => each !== undefined).map(([{ property }, each]) => [property, each]),
        );
  if (errors.size > 0) return { value, errors };
  const { issues = [] } = await schema["~standard"].validate(value);
  for (const issue of issues) {
    const [key] = keysOf(issue);
    const found = values.find(([{ property }]) => property === undefined || property === key);
    const name = found === undefined ? "" : inputName(found[0]);
    if (errors.has(name)) continue;
    const isInside = found?.[0].kind === "json" && found[1] !== undefined;
    const known = isInside ? misfitInside(issue) : found && misfit(...found);
    errors.set(name, isSensitive ? plainly : (known ?? sentence(issue.message)));
  }
  return { value, errors };
}

const plainly = "This does not fit what is asked for.";

/** Says what is wrong inside a value that was written as JSON. */
function misfitInside(issue: SchemaIssue): string {
  const place = formatPath(keysOf(issue).slice(1), "").replace(/^\./, "");
  return place === "" ? plainly : `${place} does not fit what is asked for.`;
}

/** The value of a text. Undefined: it was left out. @throws SyntaxError */
function filledValue(field: Field, text: string): unknown {
  const { kind, choices, isNullable, isRequired, shape } = field;
  if (text === "") return isNullable ? null : kind === "text" && isRequired ? "" : undefined;
  switch (kind) {
    case "boolean":
      return text === "true";
    case "choice":
      return choices[Number(text)];
    case "number": {
      const number = Number(text.replace(",", "."));
      return Number.isNaN(number) ? text : number;
    }
    case "date-time": {
      // Browsers send no time zone. The page asks for UTC.
      const instant = /(Z|[+-]\d\d:\d\d)$/i.test(text) ? text : `${text.length === 16 ? `${text}:00` : text}Z`;
      return shape["isDate"] === true ? new Date(instant) : instant;
    }
    case "json":
      return JSON.parse(text);
    default:
      return text;
  }
}

/** Says what is wrong with a value, as far as the shape tells. Undefined: only the schema knows. */
function misfit({ kind, shape, isRequired }: Field, value: unknown): string | undefined {
  const isMissing = value === undefined || value === "";
  switch (kind) {
    case "boolean":
      return isMissing ? "Choose yes or no." : undefined;
    case "choice":
      return isMissing ? "Choose one." : undefined;
    case "number":
      return numberMisfit(shape, value);
    case "date":
      return isMissing ? "Give a date." : undefined;
    case "date-time":
      return isMissing ? "Give a date and a time." : undefined;
    case "json":
      return isMissing ? "An answer is needed here." : undefined;
    default:
      return isMissing && isRequired ? "An answer is needed here." : textMisfit(shape, value);
  }
}

function numberMisfit(shape: Field["shape"], value: unknown): string | undefined {
  const [least, most] = [numberIn(shape, "minimum"), numberIn(shape, "maximum")];
  const what = shape["type"] === "integer" ? "a whole number" : "a number";
  const isNumber = typeof value === "number";
  const isWhole = shape["type"] !== "integer" || Number.isInteger(value);
  const isWithin = isNumber && (least === undefined || value >= least) && (most === undefined || value <= most);
  if (isNumber && isWhole && isWithin) return undefined;
  const from = least === undefined ? "" : ` from ${least} on`;
  const range = most === undefined ? from : least === undefined ? ` up to ${most}` : ` from ${least} to ${most}`;
  return `Give ${what}${range}.`;
}

const formats: Readonly<Record<string, string>> = {
  email: "Write an email address, such as ada@example.com.",
  uri: "Write a web address, such as https://example.com.",
  url: "Write a web address, such as https://example.com.",
};

function textMisfit(shape: Field["shape"], value: unknown): string | undefined {
  const length = typeof value === "string" ? value.length : 0;
  const [least = 0, most = Number.POSITIVE_INFINITY] = [numberIn(shape, "minLength"), numberIn(shape, "maxLength")];
  if (length < least) return `Write at least ${least} characters.`;
  if (length > most) return `Write at most ${most} characters; these are ${length}.`;
  return formats[textIn(shape, "format") ?? ""];
}

/** Makes a sentence of a refinement's message. The author of the workflow wrote that message. */
function sentence(message: string): string {
  const text = message.slice(0, 200);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
