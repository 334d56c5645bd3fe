/** The package.json of a project, with what it lacks. What is in it stays as it is. */
import * as z from "zod";
import type { Host } from "./init-hosts.ts";
import { rangeOf } from "./own-package.ts";
import { UsageError } from "./usage-error.ts";

type Texts = Readonly<Record<string, string>>;

/** Node runs TypeScript from there on. */
const oldestNode = ">=22.18";

const Package = z.object({
  type: z.string().optional(),
  scripts: z.record(z.string(), z.string()).default({}),
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
});

/** `existing`: what `npm install` writes into an empty folder counts as nothing. @throws UsageError if it cannot be read */
export function completedPackage(host: Host, name: string, existing: string = "{}"): string {
  const { content, scripts, dependencies, devDependencies } = read(existing);
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
  return read(packageText).type === "module";
}

/** How to run a script of the host's, wherever the project has another script of that name. */
export function commandFor(script: string, host: Host, packageText: string): string {
  const wanted = host.scripts[script] ?? script;
  if (read(packageText).scripts[script] === wanted) return script === "start" ? "npm start" : `npm run ${script}`;
  return wanted.startsWith("node ") ? wanted : `npx ${wanted}`;
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

function read(text: string): z.infer<typeof Package> & { content: Readonly<Record<string, unknown>> } {
  try {
    const content = z.record(z.string(), z.unknown()).parse(JSON.parse(text));
    return { ...Package.parse(content), content };
  } catch (cause) {
    const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
    throw new UsageError(`package.json cannot be read: ${reason}`, {
      hint: "Put it right, then run this again.",
      cause,
    });
  }
}

function without(ranges: Texts, has: (name: string) => boolean): Texts {
  return Object.fromEntries(Object.entries(ranges).filter(([name]) => !has(name)));
}

function textOf(content: object, indent: string = "  "): string {
  return `${JSON.stringify(content, null, indent)}\n`;
}
