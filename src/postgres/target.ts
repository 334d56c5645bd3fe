/** The database that layover is installed into: what it has where the schema goes, and what this role may do there. */
import { roles } from "./roles.ts";
import type { Script } from "./script.ts";
import { SetupError } from "./setup-error.ts";

export interface Target {
  readonly role: string;
  readonly database: string;
  /** The encoding of the database's texts. */
  readonly encoding: string;
  /** The owner of the schema. Null: there is no schema. */
  readonly owner: string | null;
  readonly isOurs: boolean;
  readonly isEmpty: boolean;
  readonly mayCreateSchema: boolean;
  readonly mayCreateInSchema: boolean;
}

/** Reads the catalogs only: looking up names needs rights that the role may lack. */
export async function inspectTarget(script: Script): Promise<Target> {
  const [row = {}] = await script(`
    select current_user as role, current_database() as database, n.owner,
      current_setting('server_encoding') as encoding,
      has_database_privilege(current_database(), 'create') as may_create_schema,
      coalesce(has_schema_privilege(n.oid, 'create'), false) as may_create_in_schema,
      exists (select from pg_class c where c.relnamespace = n.oid and c.relname = 'migration') as is_ours,
      not exists (select from pg_class c where c.relnamespace = n.oid)
        and not exists (select from pg_proc p where p.pronamespace = n.oid) as is_empty
    from (select) as always
      left join (select oid, pg_get_userbyid(nspowner) as owner from pg_namespace where nspname = 'layover') n on true`);
  const target: Target = {
    role: String(row["role"]),
    database: String(row["database"]),
    encoding: String(row["encoding"]),
    owner: row["owner"] === null ? null : String(row["owner"]),
    isOurs: row["is_ours"] === true,
    isEmpty: row["is_empty"] === true,
    mayCreateSchema: row["may_create_schema"] === true,
    mayCreateInSchema: row["may_create_in_schema"] === true,
  };
  const encodingError = wrongEncoding(target);
  if (encodingError !== undefined) throw encodingError;
  if (target.isOurs || target.isEmpty) return target;
  throw new SetupError(
    "schema_taken",
    `The database "${target.database}" has a schema "layover" that layover did not make.`,
    {
      hint: "layover's schema is always called that. Rename the other one, or use another database.",
    },
  );
}

/** Refuses every encoding but UTF8: values hold any character that JSON can, and only UTF8 has all of them. */
export function wrongEncoding({ database, encoding }: Pick<Target, "database" | "encoding">): SetupError | undefined {
  if (encoding === "UTF8") return undefined;
  return new SetupError("wrong_encoding", `The database "${database}" holds its texts in ${encoding}, not in UTF8.`, {
    hint: "An encoding never changes: create another database with encoding 'UTF8' template template0, and use that.",
  });
}

export function refuseWithoutPermission({ role, database, owner, mayCreateSchema, mayCreateInSchema }: Target): void {
  if (owner === null && !mayCreateSchema) {
    throw new SetupError("permission_denied", `"${role}" may not create a schema in the database "${database}".`, {
      hint: `Run migrate as the database's owner, or have the owner run: create schema layover authorization "${role}";`,
    });
  }
  if (owner !== null && !mayCreateInSchema) {
    throw new SetupError("permission_denied", `"${role}" may not create tables in "${owner}"'s schema "layover".`, {
      hint:
        owner === roles.owner
          ? `Have an administrator run: grant ${roles.owner} to "${role}";`
          : `Run migrate as "${owner}".`,
    });
  }
}
