import { toJson } from "./plain-json.ts";

/** `value` as plain JSON (see plain-json.ts). */
export function jsonAnswer(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(toJson(value) ?? null), {
    status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...headers,
    },
  });
}
