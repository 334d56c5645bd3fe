/**
 * Three roles without a password, for deployments that may do nothing but call layover. A login role becomes one of
 * them by `grant layover_runtime to "my_app"`.
 */
import type { HostClock } from "../core/ports.ts";
import { hostClock } from "./host-clock.ts";
import { literal } from "./literal.ts";
import { isLockedOut, LockTaken, patiently, type Wait } from "./lock-waits.ts";
import { transactionSettings, tryTheLock } from "./migration-sql.ts";
import { type PgClient, type PgPool, pgTransaction } from "./pg.ts";
import { isEntry } from "./rights-sql.ts";

export const roles = {
  /**
   * The owner of the schema and of everything in it. Entries run with its rights, so it has no others. Migrate acts as
   * this role.
   */
  owner: "layover_owner",
  /** The role that may call every entry. A deployment needs it. */
  runtime: "layover_runtime",
  /** The role that may call the entries that only read. */
  reader: "layover_reader",
} as const;

const reading = [
  "read_clock",
  "get_run",
  "list_runs",
  "get_history",
  "read_replay",
  "read_mail",
  "list_parked",
  "get_schedule",
  "list_schedules",
  "get_delivery",
  "list_deliveries",
  "diagnose",
];

/**
 * Makes the roles and gives them their rights. It may be called any number of times. The schema must exist already.
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
      if (row?.["is_taken"] !== true) throw new LockTaken("migrating");
      try {
        await script(makeRolesSql);
      } catch (error) {
        throw isLockedOut(error) ? new LockTaken("locked", "making the roles") : error;
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
