/** The prefix of an app's paths, and paths as logs may show them. */

/** `layover/` → `/layover`. */
export function prefixOf(prefix = ""): string {
  const inner = prefix.replace(/^\/+|\/+$/g, "");
  return inner === "" ? "" : `/${inner}`;
}

/** The path without the secret in it, which is a callback's token. */
export function shownPath({ url }: Request): string {
  return new URL(url).pathname.replace(/(\/callbacks\/[^/]{8})[^/]*/, "$1…");
}
