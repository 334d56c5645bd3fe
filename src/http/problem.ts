/** Errors as RFC 9457 problem documents. Of what went wrong inside, a stranger learns nothing. */
import { type ErrorCode, errorCodes, LayoverError } from "../core/errors.ts";

const retryAfterSeconds = 5;

/** The error as the caller may see it. */
export function shownError(error: unknown): LayoverError {
  if (error instanceof LayoverError && error.code !== "internal" && error.code !== "invalid_secret") return error;
  return new LayoverError("internal", "something went wrong inside", {
    hint: "Try again later. The operator's log says more.",
  });
}

export function statusOf(error: LayoverError): number {
  return errorCodes[error.code];
}

/** What an answer to this error carries whatever its body is. */
export function errorHeaders(error: LayoverError): Record<string, string> {
  const { code, details } = error;
  const headers: Record<string, string> = { "cache-control": "no-store" };
  if (statusOf(error) === 503) headers["retry-after"] = String(retryAfterSeconds);
  if (code === "method_not_allowed") headers["allow"] = String(details["allow"]);
  if (code === "unauthorized") headers["www-authenticate"] = 'Bearer realm="layover"';
  if (code === "forbidden" && details["scope"] !== undefined) {
    headers["www-authenticate"] = `Bearer realm="layover", error="insufficient_scope", scope="${details["scope"]}"`;
  }
  return headers;
}

export function problem(error: LayoverError): Response {
  const { code, message, hint, details } = error;
  const status = statusOf(error);
  const document = {
    ...details,
    type: `urn:layover:error:${code}`,
    title: titleOf(code),
    status,
    detail: message,
    code,
    hint,
  };
  const headers = { ...errorHeaders(error), "content-type": "application/problem+json" };
  return new Response(JSON.stringify(document), { status, headers });
}

/** `input_conflict` → "Input conflict". */
function titleOf(code: ErrorCode): string {
  const words = code.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
