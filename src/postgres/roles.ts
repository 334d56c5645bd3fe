/**
 * Three roles without a password, for whoever wants a deployment to have no right but to call layover. A login role becomes
 * one of them by `grant layover_runtime to "my_app"`.
 */
import { type HostClock, hostClock } from "./clock.ts";
import { literal } from "./literal.ts";
import { HeldUp, isLockedOut, patiently, type Wait } from "./lock-waits.ts";
import { transactionSettings, tryTheLock } from "./migration-sql.ts";
import { type PgClient, type PgPool, pgTransaction } from "./pg.ts";
import { isEntry } from "./rights-sql.ts";

export const roles = {
  /** Owns the schema and all in it. Entries run with its rights, so it has none elsewhere. Migrate acts as this role. */
  owner: "layover_owner",
  /** Calls every entry: what a deployment needs. */
  runtime: "layover_runtime",
  /** Calls the entries that only read. */
  reader: "layover_reader",
} as const;

const reading = ["read_clock", "get_run", "list_runs", "get_history", "diagnose"];

/**
 * Makes the roles and gives them their rights, any number of times. The schema has to be there already.
 *
 * @example await makeRoles(pool); // then: grant layover_runtime to "my_app"
 */
export async function makeRoles(
  database: PgPool | PgClient,
  { onWait = () => {}, host = hostClock }: { readonly onWait?: (wait: Wait) => void; readonly host?: HostClock } = {},
): Promise<void> {
  const transaction = pgTransaction(database);
  await patiently({ transaction, host, onWait }, () =>
    transaction(async (script) => {
      const [row] = await script(transactionSettings + tryTheLock);
      if (row?.["is_taken"] !== true) throw new HeldUp("migrating");
      try {
        await script(makeRolesSql);
      } catch (error) {
        throw isLockedOut(error) ? new HeldUp("locked", "making the roles") : error;
      }
    }),
  );
}

const makeRolesSql = `
do $roles$
declare
  v_name text;
  v_what text;
begin
  foreach v_name in array '{${Object.values(roles).join(",")}}'::text[] loop
    if not exists (select from pg_roles r where r.rolname = v_name) then
      begin
        execute format('create role %I nologin', v_name);
      exception when duplicate_object or unique_violation then -- roles are the server's: another database was faster
      end;
    end if;
  end loop;
  if not pg_has_role('${roles.owner}', 'usage') then
    execute format('grant ${roles.owner} to %I', current_user);
  end if;
  alter schema layover owner to ${roles.owner};
  for v_what in
    select format('%s layover.%I', case c.relkind when 'v' then 'view' else 'table' end, c.relname)
      from pg_class c where c.relnamespace = 'layover'::regnamespace and c.relkind in ('r', 'v')
       and pg_get_userbyid(c.relowner) <> '${roles.owner}'
    union all
    select format('function %s', p.oid::regprocedure)
      from pg_proc p where p.pronamespace = 'layover'::regnamespace and pg_get_userbyid(p.proowner) <> '${roles.owner}'
  loop
    execute format('alter %s owner to ${roles.owner}', v_what);
  end loop;
  grant usage on schema layover to ${roles.runtime}, ${roles.reader};
  for v_name, v_what in
    select p.proname, p.oid::regprocedure::text from pg_proc p
     where p.pronamespace = 'layover'::regnamespace and p.prosecdef and ${isEntry}
  loop
    execute format('grant execute on function %s to ${roles.runtime}', v_what);
    if v_name in (${reading.map(literal).join(", ")}) then
      execute format('grant execute on function %s to ${roles.reader}', v_what);
    end if;
  end loop;
end $roles$;
`;
