/** The package.json of a project, with what it lacks. What is in it stays as it is. */

import { UsageError } from "../usage-error.ts";
import { type Host, hostNames } from "./hosts.ts";
import { rangeOf } from "./own-package.ts";
import { textsIn } from "./package-texts.ts";

type Texts = Readonly<Record<string, string>>;

/** Node runs TypeScript from there on. */
const oldestNode = ">=22.18";

interface Package {
  readonly content: Readonly<Record<string, unknown>>;
  readonly scripts: Texts;
  readonly dependencies: Texts;
  readonly devDependencies: Texts;
}

/** `existing`: what `npm install` writes into an empty folder counts as nothing. @throws UsageError if it cannot be read */
export function completedPackage(host: Host, name: string, existing: string = "{}"): string {
  const { content, scripts, dependencies, devDependencies } = read(existing);
  if (host.dependencies.includes("zod")) refuseOldZod(dependencies["zod"] ?? devDependencies["zod"]);
  const has = (dependency: string) => dependency in dependencies || dependency in devDependencies;
  const needs = needsOf(host);
  const completed = {
    ...(isBlank(content) && { name, private: true, type: "module", engines: { node: oldestNode } }),
    ...content,
    scripts: { ...needs.scripts, ...scripts },
    dependencies: { ...dependencies, ...without(needs.dependencies, has) },
    devDependencies: { ...devDependencies, ...without(needs.devDependencies, has) },
  };
  return textOf(completed, /^[ \t]+(?=")/m.exec(existing)?.[0]);
}

/** Whether a project's `.ts` and `.js` files are ES modules. */
export function isOfModules(packageText: string): boolean {
  return read(packageText).content["type"] === "module";
}

/** How to run a script of the host's, wherever the project has another script of that name. */
export function commandFor(script: string, host: Host, packageText: string): string {
  const wanted = host.scripts[script] ?? script;
  if (read(packageText).scripts[script] === wanted) return script === "start" ? "npm start" : `npm run ${script}`;
  return /^(node|bun|deno) /.test(wanted) ? wanted : `npx ${wanted}`;
}

function isBlank(content: object): boolean {
  return Object.keys(content).every((key) => key === "dependencies" || key === "devDependencies");
}

function needsOf({
  scripts,
  dependencies,
  devDependencies,
}: Host): Record<"scripts" | "dependencies" | "devDependencies", Texts> {
  const ranges = (names: readonly string[]) =>
    Object.fromEntries(names.toSorted().map((name) => [name, rangeOf(name)]));
  return { scripts, dependencies: ranges(dependencies), devDependencies: ranges(devDependencies) };
}

/**
 * Refuses zod 3. The example is written with zod 4: version 3 lacks what the example uses, and does not describe its
 * schemas.
 */
function refuseOldZod(range: string | undefined): void {
  const major = /\d+/.exec(range ?? "")?.[0];
  if (major === undefined || Number(major) >= 4) return;
  throw new UsageError(`package.json asks for zod ${range}, and the example needs zod 4. Nothing was written.`, {
    hint: `Run: npm install zod@4. Then run this again. Or begin in a folder of its own: layover init --on ${hostNames} FOLDER`,
  });
}

function read(text: string): Package {
  try {
    const content: unknown = JSON.parse(text);
    if (!isObject(content)) throw new TypeError("It holds no object.");
    return {
      content,
      scripts: textsIn(content, "scripts"),
      dependencies: textsIn(content, "dependencies"),
      devDependencies: textsIn(content, "devDependencies"),
    };
  } catch (cause) {
    throw new UsageError(`package.json cannot be read: ${String(cause)}`, {
      hint: "Put it right, then run this again.",
      cause,
    });
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function without(ranges: Texts, has: (name: string) => boolean): Texts {
  return Object.fromEntries(Object.entries(ranges).filter(([name]) => !has(name)));
}

function textOf(content: object, indent: string = "  "): string {
  return `${JSON.stringify(content, null, indent)}\n`;
}
