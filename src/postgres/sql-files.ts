/** Reads the two folders of SQL that make up a version of layover's schema. Functions lie in folders of their own. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { SetupError } from "./setup-error.ts";

export interface Migration {
  readonly number: number;
  /** `0001_tables` */
  readonly name: string;
  /** The file's SQL, as it runs inside a transaction. */
  readonly sql: string;
  readonly checksum: string;
  /** Code that does not know this migration does not work after it. Such a file begins with `--! breaking`. */
  readonly isBreaking: boolean;
  /**
   * The index that the file builds while others use the table. Such a file begins with `--! concurrent`, and does
   * nothing else.
   */
  readonly concurrent?: ConcurrentIndex;
}

export interface ConcurrentIndex {
  /** The index's name without its schema, which is always `layover`. */
  readonly index: string;
  /** The statement, as it runs outside a transaction. */
  readonly sql: string;
}

export interface SqlFunction {
  readonly name: string;
  /** `functions/run/claim_runs.sql` */
  readonly file: string;
  readonly sql: string;
}

export interface Schema {
  readonly migrations: readonly Migration[];
  readonly functions: readonly SqlFunction[];
  readonly functionsChecksum: string;
  /** The version of the package that the functions came with. */
  readonly version: string;
}

export interface SchemaSource {
  /** Holds `migrations/` and `functions/`. */
  readonly folder?: URL;
  readonly version?: string;
}

/**
 * Reads the schema's files. By default they are this package's own, which lie beside this file in `src` and in `dist`.
 */
export function readSchema({
  folder = new URL("./", import.meta.url),
  version = ownVersion(),
}: SchemaSource = {}): Schema {
  const functions = readFolder(folder, "functions");
  const migrations = readFolder(folder, "migrations").map(toMigration);
  for (const [index, { number, name }] of migrations.entries()) {
    if (number === index + 1) continue;
    throw new SetupError("bad_migrations", `The migration ${name}.sql stands where number ${index + 1} is expected.`, {
      hint: "Migrations are named 0001_name.sql, 0002_name.sql and so on, without gaps or doubles.",
    });
  }
  return { migrations, functions, functionsChecksum: checksum(functions.map(({ sql }) => sql).join("\n")), version };
}

/** Answers the files of a folder and of the folders in it, by name: it does not matter in which of them a file lies. */
function readFolder(parent: URL, folder: string): SqlFunction[] {
  try {
    return readdirSync(new URL(`${folder}/`, parent), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".sql"))
      .map((path) => `${folder}/${path.replaceAll("\\", "/")}`)
      .map((file) => ({ name: basename(file, ".sql"), file, sql: readText(new URL(file, parent)) }))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch (error) {
    throw new SetupError("bad_migrations", `layover's SQL is not at ${fileURLToPath(new URL(`${folder}/`, parent))}.`, {
      hint: "It is read from files beside the code, so run migrate from node_modules, not from a bundle.",
      cause: error,
    });
  }
}

/** A checkout on Windows may have turned the line ends, which is no change. */
function readText(file: URL): string {
  return readFileSync(file, "utf8").replaceAll("\r\n", "\n");
}

function toMigration({ name, sql }: SqlFunction): Migration {
  const concurrent = /^--! concurrent\b/.test(sql) ? concurrentIndex(name, sql) : undefined;
  return {
    number: Number(/^(\d{4})_/.exec(name)?.[1]),
    name,
    sql: concurrent === undefined ? sql : sql.replace(" index concurrently ", " index "),
    ...(concurrent && { concurrent }),
    checksum: checksum(sql),
    isBreaking: /^--! breaking\b/.test(sql),
  };
}

/** The name as people see it: `migrations/0002_more.sql`. */
export function fileOf({ name }: Migration): string {
  return `migrations/${name}.sql`;
}

/**
 * Reads the index from a file. It must be one statement: then the next migrate can see what there is of it, wherever it
 * was cut off.
 */
function concurrentIndex(name: string, sql: string): ConcurrentIndex {
  const statement = sql.replaceAll(/--.*$/gm, "").trim();
  const [, index] = /^create (?:unique )?index concurrently (\w+)\s+on layover\.[^;]+;$/.exec(statement) ?? [];
  if (index !== undefined) return { index, sql: statement };
  throw new SetupError("bad_migrations", `The migration ${name}.sql is not one "create index concurrently".`, {
    hint: "A file that begins with --! concurrent holds one statement: create index concurrently name on layover.table (…);",
  });
}

function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function ownVersion(): string {
  const description: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const isNamed = typeof description === "object" && description !== null && "version" in description;
  return isNamed ? String(description.version) : "0.0.0";
}
