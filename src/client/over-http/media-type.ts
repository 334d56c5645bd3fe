/**
 * How a body is written. Programs that know nothing of layover send and get JSON. Our own client sends and gets whole
 * bodies in the codec (core/codec/codec.ts), so that a Date in a result is a Date on the other side: its text begins with the
 * codec's version, so it is not JSON, and a server that does not know it refuses it instead of taking tags for values.
 */
export const valueType = "application/vnd.layover.value";
export const problemType = "application/problem+json";

/** Lower case, without parameters. */
export function mediaType(headers: Headers): string | undefined {
  return headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() || undefined;
}

export function isJson(type: string): boolean {
  return type === "application/json" || /^application\/[^/]+\+json$/.test(type);
}
