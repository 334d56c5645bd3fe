/** Reads a request's body: bounded while it comes in, and nothing but what it says it is. */

import { checkDepth } from "../client/over-http/json-depth.ts";
import { isJson, mediaType, valueType } from "../client/over-http/media-type.ts";
import { decode } from "../core/codec/codec.ts";
import { LayoverError } from "../core/errors.ts";
import { defaultLimits } from "../core/limits.ts";
import { within } from "../core/waits.ts";
import { intakeOf } from "./body-budget.ts";

const form = "application/x-www-form-urlencoded";

/**
 * What the body says, as JSON or in the codec. Undefined where there is none.
 *
 * @throws LayoverError `unsupported_media_type`, `body_too_large`, `invalid_json`, `invalid_value`, `too_deep`
 */
export async function readValue(request: Request, maxBytes: number): Promise<unknown> {
  const type = mediaType(request.headers);
  if (type !== undefined && type !== valueType && !isJson(type)) throw unsupported(type, "application/json");
  const text = await readText(request, maxBytes);
  if (text === "") return undefined;
  if (type === undefined) throw unsupported("no content type", "application/json");
  return type === valueType ? parseValue(text) : parseJson(text, "the body");
}

/** `what` says whose text it is. @throws LayoverError `invalid_json`, `too_deep` */
export function parseJson(text: string, what: string): unknown {
  checkDepth(text, what, defaultLimits.valueDepth);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new LayoverError("invalid_json", `${what} is not JSON: ${error instanceof Error ? error.message : ""}`, {
      hint: "Write names and texts in double quotes, and no comma before a closing bracket.",
    });
  }
}

/** How many levels one object or array may take: its own, that of its tag, and that of an own key `$`. */
const mostLevels = 3;
const longestBigint = 10_000;

/**
 * A text in the codec, from anyone. All that it can make are plain values: of JSON, and of the classes in
 * core/codec/classes.ts, whose parts are checked to be what they should.
 */
function parseValue(text: string): unknown {
  // Only against the stack; how deep the value is is judged where it is stored.
  checkDepth(text, "the body", defaultLimits.valueDepth * mostLevels);
  try {
    return decode(text, { what: "the body", longestBigint });
  } catch (error) {
    if (!(error instanceof LayoverError)) throw error;
    const why = error.cause instanceof Error ? `: ${error.cause.message}` : "";
    throw new LayoverError("invalid_value", `${error.message}${why}`, {
      hint: "Send JSON, with the header `content-type: application/json`, or use a client of the same version.",
      cause: error,
    });
  }
}

/** How many fields a form may have. A page's form has one for each property that a schema names. */
const mostFields = 1_000;

/**
 * Reads the texts of each field, by the field's name. It reads the form in one pass, since looking up a name in
 * URLSearchParams walks through all fields.
 *
 * @throws LayoverError as {@link readValue}, and `too_many_fields`
 */
export async function readForm(request: Request, maxBytes: number): Promise<ReadonlyMap<string, readonly string[]>> {
  const text = await readText(request, maxBytes);
  const separators = countOf("&", text, mostFields);
  if (separators >= mostFields) throw tooManyFields();
  const form = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const values = form.get(name);
    if (values === undefined) form.set(name, [value]);
    else values.push(value);
  }
  return form;
}

/** Counts a sign in the text, and stops counting at `most`. */
function countOf(sign: string, text: string, most: number): number {
  let count = 0;
  for (let at = text.indexOf(sign); at !== -1 && count < most; at = text.indexOf(sign, at + 1)) count += 1;
  return count;
}

export function isForm(headers: Headers): boolean {
  return mediaType(headers) === form;
}

export async function readText(request: Request, maxBytes: number): Promise<string> {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(request.headers.get("content-type") ?? "")?.[1];
  if (charset !== undefined && charset.toLowerCase() !== "utf-8") throw unsupported(`charset ${charset}`, "UTF-8");
  const encoding = request.headers.get("content-encoding") ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    throw new LayoverError("unsupported_media_type", `the body came with the encoding ${encoding.slice(0, 100)}`, {
      hint: "Send it as it is, without the header `content-encoding`.",
    });
  }
  const bytes = await readBytes(request, maxBytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new LayoverError("invalid_request", "the body is not valid UTF-8", { hint: "Send the text as UTF-8." });
  }
}

/** Reads the body as it came. @throws LayoverError `body_too_large`, `body_too_slow`, `busy`, `invalid_request` */
export async function readBytes(request: Request, maxBytes: number): Promise<ArrayBuffer> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes, announced);
  const { host, ms, note } = intakeOf(request);
  const reader = request.body?.getReader();
  let size = 0;
  // A chunk may be a single byte, and an array of its own would take a hundred.
  let bytes = new ArrayBuffer(0);
  const readAll = async () => {
    for (let next = await reader?.read(); next?.value; next = await reader?.read()) {
      const begin = size;
      size += next.value.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes, size);
      note(size);
      if (size > bytes.byteLength) bytes = bytes.transfer(Math.max(size, 2 * bytes.byteLength));
      new Uint8Array(bytes).set(next.value, begin);
    }
  };
  try {
    await within(host, ms, readAll(), () => tooSlow(ms));
  } catch (cause) {
    if (cause instanceof LayoverError) throw cause;
    throw new LayoverError("invalid_request", "the body broke off", { hint: "Send the request again.", cause });
  } finally {
    reader?.cancel().catch(() => {});
  }
  return bytes.transfer(size);
}

function tooManyFields(): LayoverError {
  return new LayoverError("too_many_fields", `the form has more than ${mostFields} fields`, {
    hint: "Send fewer fields, or send the answer as JSON.",
    details: { limit: mostFields },
  });
}

function unsupported(given: string, wanted: string): LayoverError {
  return new LayoverError("unsupported_media_type", `the body came as ${given.slice(0, 100)}, not as ${wanted}`, {
    hint: `Send it with the header \`content-type: ${wanted === "UTF-8" ? "application/json" : wanted}\`.`,
  });
}

function tooSlow(ms: number): LayoverError {
  return new LayoverError("body_too_slow", `the body took longer than ${ms / 1_000} s to come`, {
    hint: "Send the request again, with its body at once.",
    details: { ms },
  });
}

function tooLarge(limit: number, size: number): LayoverError {
  return new LayoverError("body_too_large", `the body is larger than ${limit} bytes`, {
    hint: "Keep the data elsewhere (object storage, a table of yours) and send where it is.",
    details: { limit, size },
  });
}
