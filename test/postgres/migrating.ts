/** Schemas for migrate to bring a database to, and what its tests do with a pool and with a failure. */
import { Pool, type PoolConfig } from "pg";
import { SetupError } from "../../src/postgres/migrate.ts";
import { aFunction, type SchemaParts } from "./a-schema.ts";

export const first: SchemaParts = {
  migrations: { tables: "create table layover.run (id integer primary key);\n" },
  functions: { greet: aFunction("greet", "hello") },
};
export const second: SchemaParts = {
  migrations: { ...first.migrations, more: "alter table layover.run add column name text;" },
  functions: { greet: aFunction("greet", "good day"), part: aFunction("part", "bye") },
  version: "1.1.0",
};

/** A pool whose database may be dropped before Postgres has heard that the pool ended. */
export function aPool(config: PoolConfig): Pool {
  const pool = new Pool(config);
  pool.on("error", () => {});
  return pool;
}

export async function failureOf(work: Promise<unknown>): Promise<SetupError> {
  const failure: unknown = await work.then(
    (answer) => new Error(`It did not fail, but answered ${JSON.stringify(answer)}.`),
    (error: unknown) => error,
  );
  if (failure instanceof SetupError) return failure;
  throw failure;
}
