/** Compares a database with what this code needs, for people and for servers that begin. */
import { type Query, QueryError } from "../core/ports.ts";
import { areFunctionsDue, conflicts, nothing, pendingMigrations, readState } from "./schema-state.ts";
import { readSchema, type SchemaSource } from "./sql-files.ts";
import { wrongEncoding } from "./target.ts";

export interface SchemaCheck {
  /** Whether this code works on this database. */
  readonly isUsable: boolean;
  /** Names of the migrations that this code needs and the database lacks. */
  readonly missing: readonly string[];
  /** Sentences. Empty where all is well. */
  readonly problems: readonly string[];
}

/**
 * Whether a database was migrated as this code needs it. Changes nothing; reads what only the owner may read.
 *
 * @example const { isUsable, problems } = await checkSchema(pg(pool));
 */
export async function checkSchema(query: Query, source: SchemaSource = {}): Promise<SchemaCheck> {
  const schema = readSchema(source);
  const state = await readState(query).catch((error: unknown) => {
    if (error instanceof QueryError && isUndefined(error)) return nothing;
    throw error;
  });
  const missing = pendingMigrations(state, schema).map(({ name }) => name);
  const [server = {}] = await query(
    "select current_database() as database, current_setting('server_encoding') as encoding",
  );
  const encoding = wrongEncoding({ database: String(server["database"]), encoding: String(server["encoding"]) });
  if (encoding !== undefined) return { isUsable: false, missing, problems: [encoding.message] };
  const problems = [...conflicts(state, schema)].map(({ message }) => message);
  if (missing.length > 0) problems.push(`The database lacks ${missing.join(", ")}: run migrate.`);
  else if (areFunctionsDue(state, schema))
    problems.push("The database has other functions than this code: run migrate.");
  return { isUsable: problems.length === 0, missing, problems };
}

/** No such table, no such schema. */
function isUndefined({ sqlState }: QueryError): boolean {
  return sqlState === "42P01" || sqlState === "3F000";
}
