/** Checks the database before a server begins. A server whose database does not fit this code should not begin. */
import { LayoverError } from "../../core/errors.ts";
import { type Query, QueryError } from "../../core/ports.ts";
import { checkSchema } from "../../postgres/check-schema.ts";
import { printable } from "../log/printable.ts";

/**
 * Ends this process, with one line on stderr, if the database cannot be reached or was not migrated as this code needs
 * it.
 *
 * @example await requireDatabase(database); await serve({ workflows, database, secrets });
 */
export async function requireDatabase(database: Query): Promise<void> {
  const problem = await problemOf(database);
  if (problem === undefined) return;
  console.error(printable(`layover cannot begin: ${problem}`));
  process.exit(1);
}

async function problemOf(database: Query): Promise<string | undefined> {
  try {
    const { problems } = await checkSchema(database);
    return problems.length === 0 ? undefined : problems.join(" ");
  } catch (error) {
    // A role that may only call layover's functions cannot read which migrations were applied.
    if (error instanceof QueryError && error.sqlState === "42501") return undefined;
    if (error instanceof LayoverError) return `${error.message}. ${error.hint}`;
    const why = error instanceof Error ? error.message : String(error);
    return `the database cannot be used: ${why}. Look at DATABASE_URL, and whether that Postgres is running.`;
  }
}
