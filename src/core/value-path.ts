/**
 * Where in a value something is, written as the JavaScript that reaches it: `$.items[3].callback`.
 */

const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const longestPath = 200;

/** `root` stands for the value itself. A long path loses its middle. */
export function formatPath(keys: readonly PropertyKey[], root = "$"): string {
  const path = root + keys.map(formatKey).join("");
  if (path.length <= longestPath) return path;
  return `${path.slice(0, longestPath / 2)}…${path.slice(-longestPath / 2)}`;
}

function formatKey(key: PropertyKey): string {
  if (typeof key !== "string") return `[${String(key)}]`;
  return identifier.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
