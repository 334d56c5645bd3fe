/** Errors as an operation's responses: RFC 9457 problem documents, with the codes that it may answer. */
import { type ErrorCode, errorCodes } from "../../core/errors.ts";
import type { Description } from "../description.ts";
import type { Route } from "../route.ts";
import { described, integer, type JsonSchema, object, oneOf, ref, text } from "./schema.ts";

export const problemSchema: JsonSchema = {
  ...object<{ type: string; title: string; status: number; detail: string; code: string; hint: string }>({
    type: described("`urn:layover:error:` and the code.", text),
    title: text,
    status: integer,
    detail: described("What was wrong, and where.", text),
    code: described("Stable: a program may tell errors apart by it.", oneOf(...Object.keys(errorCodes))),
    hint: described("What to do.", text),
  }),
  additionalProperties: described("A fact: the field, a limit, a size.", {
    type: ["string", "number", "boolean", "null"],
  }),
  description: "An error (RFC 9457).",
};

const ofEvery = ["internal", "busy"] as const;
const ofDatabase = [
  "database_unavailable",
  "too_late",
  "wrong_schema",
  "wrong_environment",
  "wrong_isolation",
] as const;
const ofKeys = ["unauthorized", "forbidden"] as const;
const ofQueries = ["invalid_request"] as const;
const ofBodies = [
  "invalid_request",
  "invalid_json",
  "invalid_value",
  "too_deep",
  "body_too_large",
  "body_too_slow",
  "unsupported_media_type",
] as const;

/** The codes of all errors that the operation may answer. */
export function codesOf({ scope }: Route, description: Description): readonly ErrorCode[] {
  const { body, query, problems = [], needsNoDatabase = false } = description;
  return [
    ...new Set<ErrorCode>([
      ...problems,
      ...(scope === undefined ? [] : ofKeys),
      ...(query === undefined ? [] : ofQueries),
      ...(body === undefined ? [] : ofBodies),
      ...(needsNoDatabase ? [] : ofDatabase),
      ...ofEvery,
    ]),
  ];
}

/** The responses of the document that are problem documents. Equal ones are one. */
export class ProblemResponses {
  readonly #names = new Map<string, string>();
  readonly #responses = new Map<string, object>();

  /** The response for these codes, which all have this status. */
  of(status: number, codes: readonly ErrorCode[], hasPages: boolean): ProblemResponse {
    const narrowed = {
      type: "object",
      properties: { status: { const: status }, code: oneOf(...codes) },
      required: ["status", "code"],
    };
    return {
      description: codes.map((code) => `\`${code}\``).join(", "),
      content: {
        "application/problem+json": { schema: { allOf: [ref("Problem"), narrowed] } },
        ...(hasPages && { "text/html": { schema: text } }),
      },
    };
  }

  /** How to refer to the response. */
  add(status: number, response: ProblemResponse): object {
    const key = JSON.stringify(response);
    const alike = [...this.#names.values()].filter((name) => name.startsWith(`Problem${status}`)).length;
    const name = this.#names.get(key) ?? `Problem${status}${alike === 0 ? "" : `_${alike + 1}`}`;
    this.#names.set(key, name);
    this.#responses.set(name, response);
    return { $ref: `#/components/responses/${name}` };
  }

  all(): Readonly<Record<string, object>> {
    return Object.fromEntries(this.#responses);
  }
}

export interface ProblemResponse {
  readonly description: string;
  readonly content: Readonly<Record<string, object>>;
}
