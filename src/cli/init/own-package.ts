/** layover's own package: where it is installed, and which versions of others it is tested with. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { textsIn } from "./package-texts.ts";

/** The folder of this package. It is as far above `src/cli/init` as above `dist/cli/init`. */
export const packageFolder = fileURLToPath(new URL("../../..", import.meta.url));

/** The range to ask for of a package that goes with this version of layover, or of layover itself. */
export function rangeOf(name: string): string {
  const own = ownPackage();
  const ranges = { ...textsIn(own, "devDependencies"), ...textsIn(own, "dependencies"), layover: own["version"] };
  const range: unknown = Reflect.get(ranges, name);
  if (typeof range !== "string") throw new Error(`layover's package.json names no version of ${name}.`);
  return range.startsWith("^") ? range : `^${range}`;
}

function ownPackage(): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
}
