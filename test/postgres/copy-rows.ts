/** A copy of a database, as a restore makes it. */
import type { Pool } from "pg";

/** What a restore of a dump makes: the same rows in another database. */
export async function copyRows(from: Pool, to: Pool): Promise<void> {
  const { rows } = await from.query(`select relname as name from pg_class
    where relnamespace = 'layover'::regnamespace and relkind = 'r' and relname not in ('migration', 'function_set')`);
  for (const { name } of rows) {
    const { rows: found } = await from.query(`select coalesce(json_agg(t), '[]')::text as all from layover.${name} t`);
    await to.query(
      `insert into layover.${name} overriding system value
        select * from json_populate_recordset(null::layover.${name}, $1::json)`,
      [found[0].all],
    );
  }
}
