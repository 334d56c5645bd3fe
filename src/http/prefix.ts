/** The prefix of an app's paths, and requests as logs may name them. */

/** `layover/` → `/layover`. */
export function prefixOf(prefix = ""): string {
  const inner = prefix.replace(/^\/+|\/+$/g, "");
  return inner === "" ? "" : `/${inner}`;
}

/** Says for a log what was being done: `answering GET /v1/runs`. The path has no secret in it. */
export function answering(request: Request): string {
  return `answering ${request.method} ${shownPath(request)}`;
}

/** The path without the secret in it, which is a callback's token. */
function shownPath({ url }: Request): string {
  return new URL(url).pathname.replace(/(\/callbacks\/[^/]{8})[^/]*/, "$1…");
}
