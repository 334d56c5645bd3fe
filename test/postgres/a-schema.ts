/** Builds folders of SQL as migrate reads them: numbered by their order, with a version of the package. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import type { SchemaSource } from "../../src/postgres/sql-files.ts";

export interface SchemaParts {
  /** SQL of the migrations, by name without the number. */
  readonly migrations?: Readonly<Record<string, string>>;
  /** SQL of the functions, by name. */
  readonly functions?: Readonly<Record<string, string>>;
  readonly version?: string;
}

export function aSchema({ migrations = {}, functions = {}, version = "1.0.0" }: SchemaParts): Required<SchemaSource> {
  const folder = mkdtempSync(join(tmpdir(), "layover-schema-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (kind: string, name: string, sql: string) => writeFileSync(join(folder, kind, `${name}.sql`), sql);
  mkdirSync(join(folder, "migrations"));
  mkdirSync(join(folder, "functions"));
  for (const [index, [name, sql]] of Object.entries(migrations).entries()) {
    write("migrations", `${String(index + 1).padStart(4, "0")}_${name}`, sql);
  }
  for (const [name, sql] of Object.entries(functions)) write("functions", name, sql);
  return { folder: pathToFileURL(`${folder}/`), version };
}

export function aFunction(name: string, answer: string): string {
  return `create or replace function layover.${name}() returns text language sql as $$ select '${answer}' $$;`;
}
