/** What a server says of itself, and what this role may do with layover's schema in it. By the catalogs alone. */
import type { Query } from "../core/ports.ts";

export interface ServerFacts {
  /** "15.18" */
  readonly version: string;
  /** A replica, or a database that was set to read only. */
  readonly isReadOnly: boolean;
}

/** What the role of a deployment lacks. Nothing where all is empty. */
export interface MissingRights {
  readonly schema: boolean;
  /** `insert on run_state` */
  readonly tables: readonly string[];
  /** How many it may not execute. */
  readonly functions: number;
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
        select json_agg(r.name || ' on ' || c.relname order by c.relname, r.place)
          from pg_class c
          cross join unnest(array['select', 'insert', 'update', 'delete']) with ordinality as r (name, place)
         where c.relnamespace = n.oid and c.relkind = 'r' and c.relname not in ('migration', 'function_set')
           and not has_table_privilege(c.oid, r.name)) as tables, (
        select count(*)::integer from pg_proc p
         where p.pronamespace = n.oid and not has_function_privilege(p.oid, 'execute')) as functions
      from pg_namespace n where n.nspname = 'layover'`);
  const tables: unknown = row["tables"];
  return {
    schema: row["schema"] === true,
    tables: Array.isArray(tables) ? tables.map(String) : [],
    functions: Number(row["functions"] ?? 0),
  };
}
