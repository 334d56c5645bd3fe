/** A database that refuses records or attempts with an error of the test's choice, as one does whose disk is full. */

interface Sql {
  query(text: string): Promise<unknown>;
}

/** Refuses each record of which `condition` is true, until {@link acceptRecords} is called. SQL about the row `new`. */
export async function refuseRecords(sql: Sql, sqlState: string, condition = "true"): Promise<void> {
  await refuseRows(sql, "record", sqlState, condition);
}

/** Refuses each attempt so, until {@link acceptRecords} is called. */
export async function refuseAttempts(sql: Sql, sqlState: string, condition: string): Promise<void> {
  await refuseRows(sql, "attempt", sqlState, condition);
}

async function refuseRows(sql: Sql, table: string, sqlState: string, condition: string): Promise<void> {
  await sql.query(`create function public.refuse() returns trigger language plpgsql as $$
    begin raise exception 'refused' using errcode = '${sqlState}'; end $$`);
  await sql.query(`create trigger refusing before insert on layover.${table}
    for each row when (${condition}) execute function public.refuse()`);
}

export async function acceptRecords(sql: Sql): Promise<void> {
  await sql.query("drop function public.refuse() cascade");
}
