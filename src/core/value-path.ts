/**
 * Where in a value something is, written as the JavaScript that reaches it: `$.items[3].callback`.
 */

/** A property's key, an array's index, or (in an object) text that follows as it is. */
export type PathSegment = PropertyKey | { readonly text: string };

const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const longestPath = 200;

/** Long paths lose their middle. `root` stands for the value itself. */
export function formatPath(segments: readonly PathSegment[], root = "$"): string {
  const path = root + segments.map(formatSegment).join("");
  if (path.length <= longestPath) return path;
  return `${path.slice(0, longestPath / 2)}…${path.slice(-longestPath / 2)}`;
}

function formatSegment(segment: PathSegment): string {
  if (typeof segment === "object") return segment.text;
  if (typeof segment === "number") return `[${segment}]`;
  if (typeof segment === "symbol") return `[${String(segment)}]`;
  return identifier.test(segment) ? `.${segment}` : `[${JSON.stringify(segment)}]`;
}
