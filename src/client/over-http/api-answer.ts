/** What an answer of the API means: a value, or an error, and whether it may be another one if the request is sent again. */
import { decode } from "../../core/codec/codec.ts";
import { isRecord } from "../../core/codec/tag-checks.ts";
import { type ErrorCode, type ErrorDetails, errorCodes, type JsonScalar, LayoverError } from "../../core/errors.ts";
import { defaultLimits } from "../../core/limits.ts";
import { checkDepth } from "./json-depth.ts";
import { mediaType, problemType, valueType } from "./media-type.ts";

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

/** The deepest nesting of an answer. Each level of a value, and of the views around it, may take three in the codec. */
const mostLevels = (defaultLimits.valueDepth + 10) * 3;
/** A bigint takes time by the square of its digits; one of layover's fits into a value. */
const longestBigint = defaultLimits.valueBytes;

/** The whole body; undefined where it has more bytes than that. */
export async function textOf({ body }: Response, maxBytes: number): Promise<string | undefined> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for (;;) {
    const { value } = (await reader?.read()) ?? {};
    if (value === undefined) return text + decoder.decode();
    size += value.byteLength;
    if (size > maxBytes) {
      await reader?.cancel();
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** `text` is the whole body; undefined: there was too much of it. Only what is in the codec is an answer of layover's. */
export function outcomeOf(response: Response, text: string | undefined): Outcome {
  if (text === undefined) return { error: unexpected(response, "with more than 64 MiB"), isPassing: false };
  if (!response.ok) {
    const isPassing = passing.includes(response.status);
    return { error: errorOf(response, text), isPassing, retryAfterMs: isPassing ? retryAfterOf(response) : undefined };
  }
  if (mediaType(response.headers) !== valueType) {
    return { error: unexpected(response, "which is none of layover's"), isPassing: false };
  }
  try {
    checkDepth(text, "it", mostLevels);
    return { value: decode(text, { what: "the answer", longestBigint }) };
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    return { error: unexpected(response, `and cannot be understood: ${what}`, { cause }), isPassing: true };
  }
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
