/**
 * Which roles may call which functions. An entry is a function that clients call. It takes one `jsonb`, or nothing, and
 * answers `json`. It runs with the rights of its owner, so its callers need no right on any table. All other functions
 * are the owner's alone.
 *
 * Each entry fixes the search_path, and the functions that it calls inherit that. Otherwise someone who may create
 * things in `public` could create a better fitting operator or function there, and the caller would run it.
 *
 * Rights that somebody gave or took after the first migrate stay, since a replaced function keeps its rights. Releases
 * without entries needed all rights on the tables. A role that has those is given the entries.
 */
import { literal } from "./literal.ts";
import type { Schema } from "./sql-files.ts";

const path = "pg_catalog, pg_temp";

/** The condition for an entry. It is for SQL that has the function as `p`. */
export const isEntry = `(
  p.prorettype = 'json'::regtype and (p.pronargs = 0 or p.proargtypes::text = 'jsonb'::regtype::oid::text)
  or p.proname = 'new_id')`;

/** Remembers the rights. It must run before the functions are written, in the same transaction. */
export const rememberRights = `
select
  set_config('layover_migrate.entries', coalesce((
    select string_agg(p.oid::text, ',') from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname = 'layover' and p.prosecdef), ''), true),
  set_config('layover_migrate.callers', coalesce((
    select string_agg(g.grantee::text, ',') from (
      select a.grantee
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace cross join aclexplode(p.proacl) as a
       where n.nspname = 'layover' and p.proname = 'claim_turns' and p.prosecdef and a.grantee <> p.proowner
      union
      select a.grantee
        from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join aclexplode(c.relacl) as a
       where n.nspname = 'layover' and c.relname = 'run_state' and a.grantee <> c.relowner
         and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
         and not exists (select from pg_proc p
           where p.pronamespace = n.oid and p.proname = 'claim_turns' and p.prosecdef)
       group by a.grantee having count(distinct a.privilege_type) = 4
    ) as g), ''), true);
`;

/**
 * Makes the SQL that sets the rights. It must run after the functions are written, in the same transaction. It touches
 * only layover's own functions.
 */
export function setRights({ functions }: Schema): string {
  const names = functions.map(({ name }) => literal(name)).join(", ");
  if (names === "") return "";
  return `
do $rights$
declare
  v_entries constant oid[] := string_to_array(nullif(current_setting('layover_migrate.entries'), ''), ',')::oid[];
  v_callers constant oid[] := string_to_array(nullif(current_setting('layover_migrate.callers'), ''), ',')::oid[];
  f     record;
  v_who oid;
begin
  for f in
    select p.oid, p.oid::regprocedure::text as call, coalesce(p.proacl, acldefault('f', p.proowner)) as acl, p.proowner,
        ${isEntry} as is_entry, p.prorettype = 'trigger'::regtype as is_trigger
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname = 'layover' and p.proname in (${names})
     order by p.proname
  loop
    if f.is_entry or f.is_trigger then
      execute format('alter function %s security definer set search_path = ${path}', f.call);
    end if;
    continue when f.oid = any (v_entries); -- its rights are those that people gave it
    for v_who in select distinct a.grantee from aclexplode(f.acl) as a where a.grantee <> f.proowner loop
      execute format('revoke all on function %s from %s cascade', f.call,
        case when v_who = 0 then 'public' else quote_ident(pg_get_userbyid(v_who)) end);
    end loop;
    if f.is_entry then
      foreach v_who in array coalesce(v_callers, '{}') loop
        execute format('grant execute on function %s to %s', f.call,
          case when v_who = 0 then 'public' else quote_ident(pg_get_userbyid(v_who)) end);
      end loop;
    end if;
  end loop;
end $rights$;
`;
}
