/** The files of a project that `layover init` begins: layover's reference deployment as it is, and what goes around it. */
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "./hosts.ts";
import { packageFolder } from "./own-package.ts";
import { completedPackage, isOfModules } from "./package.ts";

export interface ProjectFile {
  /** The path from the project's folder, with slashes. */
  readonly path: string;
  readonly text: string;
  /** Answers the file that is there, with what it lacks. Without this, there must be none yet. */
  readonly completed?: (existing: string) => string;
  /** The advice, if a file is there already and stays. */
  readonly advice?: string;
  /** Whether only its owner may read it. */
  readonly isSecret?: boolean;
}

/** One entry of a file that is a list of such, and how to tell that a file has it. */
interface Entry {
  readonly text: string;
  readonly isIn: (line: string) => boolean;
}

const tsconfig = `{
  "compilerOptions": {
    "target": "es2023",
    "lib": ["es2024"],
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true,
    "allowImportingTsExtensions": true,
    "skipLibCheck": true,
    "noEmit": true
  }
}
`;

const tsconfigAdvice =
  'functions/ needs in it: "module": "nodenext", "allowImportingTsExtensions": true, "noEmit": true';

/** The file that makes the copied folder a package of ES modules, if the project is none. */
const moduleMark: ProjectFile = {
  path: "functions/package.json",
  text: '{ "type": "module" }\n',
  completed: (existing) => existing,
  advice: 'functions/ needs in it: "type": "module"',
};

/** `packageText`: the package.json that is there. @throws UsageError */
export function projectFiles(host: Host, name: string, packageText: string | undefined): readonly ProjectFile[] {
  const text = completedPackage(host, name, packageText);
  return [
    ...host.copied
      .flatMap(filesAt)
      .map((path) => ({ path: host.renamed?.[path] ?? path, text: copyOf(path, host, name) })),
    ...(isOfModules(text) ? [] : [moduleMark]),
    { path: "package.json", text, completed: () => text },
    { path: "tsconfig.json", text: tsconfig, completed: (existing) => existing, advice: tsconfigAdvice },
    listFile(".gitignore", host.ignored.map(ignored)),
    { ...listFile(host.envFile, variables(host)), isSecret: true },
  ];
}

/** The file, or all files in the folder. */
function filesAt(path: string): readonly string[] {
  const source = join(packageFolder, path);
  if (!statSync(source).isDirectory()) return [path];
  const entries = readdirSync(source).toSorted();
  return entries.flatMap((entry) => filesAt(`${path}/${entry}`));
}

/**
 * Copies the file, and gives what is deployed the name of the project. Two deployments of one name would replace each
 * other.
 */
function copyOf(path: string, { replaced = [] }: Host, name: string): string {
  const text = replaced.reduce(
    (before, [part, by]) => before.replace(part, by),
    readFileSync(join(packageFolder, path), "utf8"),
  );
  if (path === "infra/app.ts") return text.replace('"layover"', JSON.stringify(name));
  return path.endsWith(".toml") ? text.replace(/(?<="|\/\/|queues create )layover\b/g, name) : text;
}

function listFile(path: string, entries: readonly Entry[]): ProjectFile {
  const textOf = (some: readonly Entry[]) => some.map(({ text }) => `${text}\n`).join("");
  return {
    path,
    text: textOf(entries),
    completed(existing) {
      const lines = existing.split("\n").map((line) => line.trim());
      const lineEnd = existing === "" || existing.endsWith("\n") ? "" : "\n";
      const missing = entries.filter(({ isIn }) => !lines.some(isIn));
      return missing.length === 0 ? existing : `${existing}${lineEnd}${textOf(missing)}`;
    },
  };
}

function ignored(path: string): Entry {
  const bare = (line: string) => line.replace(/^\/|\/$/g, "");
  return { text: path, isIn: (line) => bare(line) === bare(path) };
}

function variables({ database, variables }: Host): readonly Entry[] {
  const own = variables.map(([name, value, remark]) => variable(name, value, remark));
  if (database === undefined) return own;
  return [
    variable("DATABASE_URL", "", `${database}: postgresql://user:password@host/database`),
    variable("LAYOVER_SECRET", randomBytes(32).toString("base64url"), "Signs API keys and the URLs of callbacks"),
    ...own,
    variable("LAYOVER_KEY", "", "What the command line asks with: a key that `layover keys create` has shown"),
  ];
}

function variable(name: string, value: string, remark: string): Entry {
  const assignment = new RegExp(`^(export\\s+)?${name}\\s*=`);
  return { text: `# ${remark}\n${name}=${value}`, isIn: (line) => assignment.test(line) };
}
