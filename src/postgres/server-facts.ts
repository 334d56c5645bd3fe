/** What a server says of itself, and what this role may do with layover's schema in it. By the catalogs alone. */
import type { Query } from "../core/ports.ts";

export interface ServerFacts {
  /** "15.18" */
  readonly version: string;
  /** A replica, or a database that was set to read only. */
  readonly isReadOnly: boolean;
}

/** The rights that a deployment's role lacks. It only needs to call the entries. */
export interface MissingRights {
  /** Whether it lacks the right to use the schema. */
  readonly schema: boolean;
  /** The entries that it may not execute. */
  readonly functions: readonly string[];
}

export async function readServerFacts(query: Query): Promise<ServerFacts> {
  const [row = {}] = await query(`
    select current_setting('server_version') as version,
      pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as is_read_only`);
  return { version: String(row["version"]).split(" ")[0] ?? "", isReadOnly: row["is_read_only"] === true };
}

export async function missingRights(query: Query): Promise<MissingRights> {
  const [row = {}] = await query(`
    select not has_schema_privilege(n.oid, 'usage') as schema, (
        select json_agg(p.proname order by p.proname) from pg_proc p
         where p.pronamespace = n.oid and p.prosecdef and p.prorettype <> 'trigger'::regtype
           and not has_function_privilege(p.oid, 'execute')) as functions
      from pg_namespace n where n.nspname = 'layover'`);
  const functions: unknown = row["functions"];
  return { schema: row["schema"] === true, functions: Array.isArray(functions) ? functions.map(String) : [] };
}
