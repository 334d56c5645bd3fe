/** Finds the line of a handler that calls a verb of `step`: the innermost one on the stack that is not layover's own. */

/** Layover's own folder. Undefined: all code is in one bundle, so nothing tells whose a line is. */
const own = ownFolder();
const mostFrames = 50;

export function sourceLine(): string | undefined {
  return laterLine()();
}

/** Remembers where it is called. The answered function finds the line, which costs much more. */
export function laterLine(): () => string | undefined {
  if (own === undefined) return () => undefined;
  const usual = Error.stackTraceLimit;
  Error.stackTraceLimit = mostFrames;
  const here = new Error();
  Error.stackTraceLimit = usual;
  return () => (here.stack ?? "").split("\n").slice(1).map(placeOf).find(isForeign);
}

/** Reads `    at handle (file:///app/order.ts:12:8)`. */
function placeOf(frame: string): string {
  const [, place = ""] = /\(?((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/])[^()]*:\d+:\d+)\)?$/.exec(frame.trim()) ?? [];
  return place.replace(/^file:\/\//, "");
}

function isForeign(place: string): boolean {
  return place !== "" && own !== undefined && !place.startsWith(own) && !place.includes("node:");
}

function ownFolder(): string | undefined {
  try {
    return decodeURI(new URL("../../", import.meta.url).pathname);
  } catch {
    return undefined;
  }
}
