/**
 * Schemas are anybody's: zod, valibot, arktype … whatever implements Standard Schema, version 1. Its types
 * are copied here, as https://standardschema.dev invites.
 */

import { type ErrorCode, LayoverError } from "../errors.ts";
import { formatPath } from "../value-path.ts";

/** A Standard Schema that takes `Input` and makes `Output` of it. */
export interface Schema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** The schema's types. Only the compiler reads this property. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What may be given to a schema. */
export type InferInput<S extends Schema> = NonNullable<S["~standard"]["types"]>["input"];

/** What a schema makes of it. */
export type InferOutput<S extends Schema> = NonNullable<S["~standard"]["types"]>["output"];

/** How an error tells of a value. */
export interface ParseTerms {
  readonly code: ErrorCode;
  /** The subject of its sentence: `the input of "order"`. */
  readonly what: string;
  /** Whether it says nothing of the value: a schema's messages and places may repeat parts of it. */
  readonly isSensitive?: boolean | undefined;
}

/**
 * What `schema` makes of `value`. `what` is the subject of an error's sentence: `the input of "order"`.
 *
 * @throws LayoverError with `code`; `details.issues` counts what is wrong, `details.path` is where the first is.
 */
export async function parse<Output>(
  schema: Schema<unknown, Output>,
  value: unknown,
  options: ParseTerms,
): Promise<Output> {
  const result = await validate(schema, value, options);
  if (result.issues === undefined) return result.value;
  throw misfit(result.issues, options);
}

/**
 * What `schema` makes of `value`, where nobody may wait for it.
 *
 * @throws LayoverError with `code`, also if the schema answers only later
 */
export function parseAtOnce<Output>(schema: Schema<unknown, Output>, value: unknown, options: ParseTerms): Output {
  const result = validateAtOnce(schema, value, options);
  if (result instanceof Promise) {
    result.catch(() => {}); // nobody looks
    throw new LayoverError(options.code, `${options.what} could not be checked: its schema answers only later`, {
      hint: "Give a schema without async transforms and refinements.",
    });
  }
  if (result.issues === undefined) return result.value;
  throw misfit(result.issues, options);
}

function validateAtOnce<Output>(
  schema: Schema<unknown, Output>,
  value: unknown,
  options: ParseTerms,
): SchemaResult<Output> | Promise<SchemaResult<Output>> {
  try {
    return schema["~standard"].validate(value);
  } catch (cause) {
    throw uncheckable(cause, options);
  }
}

async function validate<Output>(
  schema: Schema<unknown, Output>,
  value: unknown,
  options: ParseTerms,
): Promise<SchemaResult<Output>> {
  try {
    return await schema["~standard"].validate(value);
  } catch (cause) {
    throw uncheckable(cause, options);
  }
}

function uncheckable(cause: unknown, { code, what, isSensitive = false }: ParseTerms): LayoverError {
  return new LayoverError(code, `${what} could not be checked: its schema threw an error`, {
    hint: "Let the schema report an issue instead of throwing, in its transforms and refinements too.",
    ...(!isSensitive && { cause }),
  });
}

const mostIssues = 5;
const longestMessage = 200;

function misfit(issues: readonly SchemaIssue[], { code, what, isSensitive = false }: ParseTerms): LayoverError {
  if (isSensitive) {
    return new LayoverError(code, `${what} does not fit its schema. It is sensitive, so nothing more is told`, {
      hint: "Give a value that fits the schema in the workflow's contract.",
      details: { issues: issues.length },
    });
  }
  const shown = issues.slice(0, mostIssues).map(describe).join("; ");
  const rest = issues.length > mostIssues ? `; and ${issues.length - mostIssues} more` : "";
  return new LayoverError(code, `${what} does not fit its schema: ${shown}${rest}`, {
    hint: "Give a value that fits the schema in the workflow's contract.",
    details: { issues: issues.length, path: placeOf(issues[0]) },
  });
}

function describe(issue: SchemaIssue): string {
  const place = placeOf(issue);
  const message = issue.message.slice(0, longestMessage);
  return place === "" ? message : `${place}: ${message}`;
}

/** `items[3].sku`; empty for the value itself. */
function placeOf(issue: SchemaIssue | undefined): string {
  return formatPath(issue === undefined ? [] : keysOf(issue), "").replace(/^\./, "");
}

/** The keys that lead from the value to the part that is wrong. */
export function keysOf({ path = [] }: SchemaIssue): readonly PropertyKey[] {
  return path.map((segment) => (typeof segment === "object" ? segment.key : segment));
}

/** Schemas by name: a contract's signals, its callbacks. */
export type Schemas = Readonly<Record<string, Schema>>;
