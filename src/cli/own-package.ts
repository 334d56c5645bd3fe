/** layover's own package: where it is installed, and which versions of others it is tested with. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as z from "zod";

/** As far above `src/cli` as above `dist/cli`. */
export const packageFolder = fileURLToPath(new URL("../..", import.meta.url));

const Versions = z.record(z.string(), z.string());
const Package = z.object({ version: z.string(), dependencies: Versions, devDependencies: Versions });

/** The range to ask for of a package that goes with this version of layover, or of layover itself. */
export function rangeOf(name: string): string {
  const { version, dependencies, devDependencies } = ownPackage();
  const range = name === "layover" ? version : (dependencies[name] ?? devDependencies[name]);
  if (range === undefined) throw new Error(`layover's package.json names no version of ${name}.`);
  return range.startsWith("^") ? range : `^${range}`;
}

function ownPackage(): z.infer<typeof Package> {
  return Package.parse(JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")));
}
