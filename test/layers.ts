/**
 * Reads the imports of the sources and names those that break the layering rule (its floors are in src/README.md).
 */
import { globSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync, Visitor } from "oxc-parser";

const rule = "an import points down or stays on its floor, never up; type-only imports count";

/**
 * The floors, lowest first. A room that ends in a slash is a folder. A file stands in the innermost room that has it.
 */
const floors = [
  ["src/core/"],
  ["src/core/codec/"],
  ["src/core/contract/"],
  ["src/core/replay/"],
  ["src/postgres/"],
  ["src/engine/", "src/client/"],
  ["src/client/over-http/", "src/client/over-postgres/"],
  ["src/http/", "src/index.ts"],
  ["src/platform/invocation/", "src/platform/log/", "src/platform/telemetry/"],
  [
    "src/platform/cloudflare/alarm/",
    "src/platform/cloudflare/queue/",
    "src/platform/lambda/aws/",
    "src/platform/node/neighbours/",
  ],
  ["src/platform/node/in-process/"],
  [
    "src/platform/alarm/",
    "src/platform/cloudflare/",
    "src/platform/fetch/",
    "src/platform/lambda/",
    "src/platform/node/",
  ],
  ["src/cdk/", "src/cli/", "src/testing.ts", "src/testing/", "functions/", "infra/"],
];

/** The rooms that each know one host. */
const wings = ["alarm", "cloudflare", "fetch", "lambda", "node"].map((host) => `src/platform/${host}/`);

/** Pairs of rooms that never import each other. */
const strangers: readonly (readonly [string, string])[] = [
  ["src/engine/", "src/client/"],
  ["src/client/over-http/", "src/client/over-postgres/"],
  // Who does not use telemetry must not load it.
  ...wings.map((wing) => [wing, "src/platform/telemetry/"] as const),
  ...wings.flatMap((one, index) => wings.slice(index + 1).map((other) => [one, other] as const)),
];

/** The file through which every stored value passes. Only the rooms below use the codec without it. */
const codec = "src/core/codec/codec.ts";
const usersOfCodec = ["src/core/codec/", "src/client/over-http/", "src/http/"];

/** The rooms of the platform that use nothing of Node's. */
const hostFree = new Set([
  "src/platform/alarm/",
  "src/platform/fetch/",
  "src/platform/invocation/",
  "src/platform/log/",
  "src/platform/telemetry/",
]);

/** A deployment sees of layover what a user sees: the public entries. */
const deployments = new Set(["functions/", "infra/"]);

export interface Sources {
  /** Text by path from the root: `src/core/run.ts`. */
  readonly files: ReadonlyMap<string, string>;
  /** Source by public name: `layover/node` is `src/platform/node/index.ts`. */
  readonly entries: ReadonlyMap<string, string>;
}

interface Import {
  /** Null where it is computed when it runs. */
  readonly specifier: string | null;
  /** The file it names, if that is one of ours. */
  readonly target: string | null;
}

/** Answers one sentence for each import that breaks the rule and for each circle; none if all is well. */
export function violations({ files, entries }: Sources): string[] {
  const found: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [file, text] of files) {
    const imports = importsOf(file, text, entries);
    graph.set(
      file,
      imports.flatMap(({ target }) => (target !== null && files.has(target) ? [target] : [])),
    );
    if (roomOf(file) === null) found.push(`${file} stands on no floor: ${rule}`);
    for (const each of imports) {
      const reason = objection(file, each);
      if (reason) found.push(`${file} imports ${each.specifier ?? "what it computes"}, but ${reason}: ${rule}`);
    }
  }
  return [...found, ...circles(graph).map((circle) => `${circle.join(" → ")} is a circle of imports: ${rule}`)];
}

function objection(file: string, { specifier, target }: Import): string | null {
  const from = roomOf(file);
  if (from === null) return null;
  if (target === null) {
    if (hostFree.has(from) && specifier !== null && isBuiltin(specifier)) return `${from} runs on every host`;
    if (!from.startsWith("src/core/")) return null;
    return specifier !== null && isBuiltin(specifier)
      ? "core imports nothing but core, no built-in modules"
      : "core imports nothing but core, no packages";
  }
  if (target.startsWith("test/")) return "nothing imports test/";
  const to = roomOf(target);
  if (deployments.has(from) && !(to !== null && deployments.has(to)) && specifier?.startsWith(".")) {
    return `${from} imports layover by its public entries only`;
  }
  if (to === null) return `${target} stands on no floor`;
  if (deployments.has(to) && !deployments.has(from)) return `the package imports nothing from ${to}`;
  if (target === codec && !usersOfCodec.includes(from)) {
    return "values reach the database, and come back, by src/core/codec/stored-value.ts";
  }
  if (areStrangers(from, to) || areStrangers(to, from)) return `${from} and ${to} do not import each other`;
  if (floorOf(to) > floorOf(from)) return `${to} is above ${from}`;
  return null;
}

function areStrangers(one: string, other: string): boolean {
  return strangers.some(([first, second]) => one.startsWith(first) && other.startsWith(second));
}

function roomOf(path: string): string | null {
  const rooms = floors.flat().filter((room) => (room.endsWith("/") ? path.startsWith(room) : path === room));
  return rooms.toSorted((one, other) => other.length - one.length)[0] ?? null;
}

function floorOf(room: string): number {
  return floors.findIndex((rooms) => rooms.includes(room));
}

function importsOf(file: string, text: string, entries: ReadonlyMap<string, string>): Import[] {
  const { program, errors } = parseSync(file, text);
  if (errors[0]) throw new Error(`${file} cannot be read: ${errors[0].message}`);
  const specifiers = new Set<string | null>();
  new Visitor({
    ImportDeclaration: ({ source }) => specifiers.add(source.value),
    ExportAllDeclaration: ({ source }) => specifiers.add(source.value),
    ExportNamedDeclaration: ({ source }) => source && specifiers.add(source.value),
    TSImportType: ({ source }) => specifiers.add(source.value),
    ImportExpression: ({ source }) =>
      specifiers.add(source.type === "Literal" && typeof source.value === "string" ? source.value : null),
  }).visit(program);
  return [...specifiers].map((specifier) => ({ specifier, target: specifier && targetOf(file, specifier, entries) }));
}

function targetOf(file: string, specifier: string, entries: ReadonlyMap<string, string>): string | null {
  return specifier.startsWith(".") ? posix.join(posix.dirname(file), specifier) : (entries.get(specifier) ?? null);
}

/**
 * Answers a circle for each place where a walk over the imports comes back to its own path. A circle begins and ends
 * with the same file.
 */
function circles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const walk = (file: string): void => {
    if (path.includes(file)) {
      found.push([...path.slice(path.indexOf(file)), file]);
    } else if (!done.has(file)) {
      path.push(file);
      for (const next of graph.get(file) ?? []) walk(next);
      path.pop();
      done.add(file);
    }
  };
  for (const file of graph.keys()) walk(file);
  return found;
}

/** Reads the sources of this repository. */
export function readSources(): Sources {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const paths = globSync("{src,functions,infra}/**/*.{ts,tsx,mts,js,mjs}", {
    cwd: root,
    exclude: ["**/node_modules/**"],
  });
  const { name, exports } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  return {
    files: new Map(paths.map((path) => [path.replaceAll("\\", "/"), readFileSync(root + path, "utf8")])),
    entries: new Map(
      Object.entries<Record<string, string>>(exports).flatMap(([entry, { "layover-source": source }]) =>
        source ? [[posix.join(name, entry), posix.normalize(source)]] : [],
      ),
    ),
  };
}
