/** Makes responses that the caller can read: in the codec for our own client, as plain JSON (plain-json.ts) for others. */

import { valueType } from "../client/over-http/media-type.ts";
import { sealed } from "../client/over-http/sealed-view.ts";
import { encode } from "../core/codec/codec.ts";
import { defaultLimits } from "../core/limits.ts";
import { toJson } from "./plain-json.ts";

/** A view holds values, so it may be deeper than a value. */
const maxDepth = defaultLimits.valueDepth + 10;

export function respondTo(
  request: Request,
  value: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): Response {
  const inCodec = (request.headers.get("accept") ?? "").includes(valueType);
  const text = inCodec
    ? encode(sealed(value), { what: "the answer", maxBytes: Number.POSITIVE_INFINITY, maxDepth })
    : JSON.stringify(toJson(value) ?? null);
  return new Response(text, {
    status,
    headers: {
      "content-type": inCodec ? valueType : "application/json",
      "cache-control": "no-store",
      vary: "accept",
      "x-content-type-options": "nosniff",
      ...headers,
    },
  });
}
