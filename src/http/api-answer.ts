/** What an answer of the API means: a value, or an error, and whether it may be another one if the request is sent again. */
import { decode } from "../core/codec.ts";
import { type ErrorCode, type ErrorDetails, errorCodes, type JsonScalar, LayoverError } from "../core/errors.ts";
import { isJson, mediaType, problemType, valueType } from "./media-type.ts";

export type Outcome =
  | { readonly value: unknown }
  | {
      readonly error: LayoverError;
      /** Sending the request again may well help. */
      readonly isPassing: boolean;
      /** The server asked to be left alone for so long. */
      readonly retryAfterMs?: number | undefined;
    };

/** Too many requests; and what gateways, and layover itself, say of a server or database that is not there just now. */
const passing = [429, 502, 503, 504];

/** `text` is the whole body. */
export function outcomeOf(response: Response, text: string): Outcome {
  if (!response.ok) {
    const isPassing = passing.includes(response.status);
    return { error: errorOf(response, text), isPassing, retryAfterMs: isPassing ? retryAfterOf(response) : undefined };
  }
  const type = mediaType(response.headers) ?? "";
  try {
    if (type === valueType) return { value: decode(text, { what: "the answer" }) };
    if (isJson(type)) return { value: JSON.parse(text) };
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    return { error: unexpected(response, `and cannot be understood: ${what}`, { cause }), isPassing: true };
  }
  return { error: unexpected(response, "which is none of layover's"), isPassing: false };
}

/** The very error that the server met, if it was layover who answered. */
function errorOf(response: Response, text: string): LayoverError {
  const document = mediaType(response.headers) === problemType ? fieldsOf(text) : undefined;
  if (document === undefined) return unexpected(response, "which is none of layover's");
  const { type: _, title, status: __, detail, code, hint, ...details } = document;
  const message = textOr(detail, textOr(title, "the server says no more"));
  const advice = textOr(hint, "Look at the server's log.");
  if (isErrorCode(code)) return new LayoverError(code, message, { hint: advice, details: scalars(details) });
  return unexpected(response, `with the error ${textOr(code, "of no code")}: ${message}`, { hint: advice, details });
}

interface Unexpected {
  readonly hint?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

function unexpected(response: Response, what: string, { hint, details = {}, cause }: Unexpected = {}): LayoverError {
  const { status, type } = response;
  const isRedirect = type === "opaqueredirect" || (status >= 300 && status < 400);
  const media = mediaType(response.headers);
  const how = isRedirect ? "a redirect" : `${status}${media === undefined ? "" : ` (${media})`}`;
  return new LayoverError("unexpected_answer", `the API answered ${how}, ${what}`, {
    hint: hint ?? "Look at the url, its scheme and its prefix, and at what stands between here and layover.",
    details: { ...scalars(details), status },
    ...(cause !== undefined && { cause }),
  });
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const document: unknown = JSON.parse(text);
    return isRecord(document) ? document : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(errorCodes, code);
}

function scalars(details: Readonly<Record<string, unknown>>): ErrorDetails {
  return Object.fromEntries(
    Object.entries(details).filter((entry): entry is [string, JsonScalar] => isScalar(entry[1])),
  );
}

function isScalar(value: unknown): value is JsonScalar {
  return value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}

/** Seconds or a date (RFC 9110 §10.2.3). */
function retryAfterOf({ headers }: Response): number | undefined {
  const text = headers.get("retry-after")?.trim() ?? "";
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
