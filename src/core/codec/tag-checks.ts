/** What a stored tag holds, checked: a row may be damaged, or written by a version to come. */

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

export function record(value: unknown): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw new TypeError("a tag holds no object where it should");
}

export function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new TypeError("a tag holds no array where it should");
}

export function entry(value: unknown): readonly [unknown, unknown] {
  const [key, member] = list(value);
  return [key, member];
}

export function text(value: unknown): string {
  if (typeof value === "string") return value;
  throw new TypeError("a tag holds no text where it should");
}
