import type { Row } from "../core/ports.ts";

/**
 * Sends a text of one or more statements and answers the rows of the last. Only migrations need this: what runs in
 * production is one statement at a time, through a Query.
 */
export type Script = (sql: string) => Promise<readonly Row[]>;

/** Does the work on one connection, in a transaction at read committed: all of it, or nothing where it throws. */
export type Transaction = <Result>(work: (script: Script) => Promise<Result>) => Promise<Result>;

/**
 * Does the work on one connection, outside a transaction, with nothing else on that connection meanwhile. Needed by
 * statements that refuse a transaction, such as `create index concurrently`.
 *
 * `backendPid` is the server process that the driver was told of at connecting: behind a pooler it is another one than
 * `pg_backend_pid()` answers. Undefined where the driver does not say.
 */
export type Session = <Result>(
  work: (script: Script, backendPid: number | undefined) => Promise<Result>,
) => Promise<Result>;
