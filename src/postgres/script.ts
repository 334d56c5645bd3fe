/** How migrate talks to a database: by texts of many statements, in a transaction or on a connection of its own. */
import type { Row } from "../core/ports.ts";

/**
 * Sends a text of one or more statements and answers the rows of the last. Only migrations need this: what runs in
 * production is one statement at a time, through a Query.
 */
export type Script = (sql: string) => Promise<readonly Row[]>;

/** Does the work on one connection, in a transaction at read committed: all of it, or nothing where it throws. */
export type Transaction = <Result>(work: (script: Script) => Promise<Result>) => Promise<Result>;

/**
 * Does the work on one connection, outside a transaction. Nothing else uses that connection meanwhile. Some statements
 * refuse a transaction, such as `create index concurrently`.
 *
 * `backendPid` is the id of the server process that the driver learned when it connected. Behind a pooler
 * `pg_backend_pid()` answers another one. Undefined: the driver does not tell.
 */
export type Session = <Result>(
  work: (script: Script, backendPid: number | undefined) => Promise<Result>,
) => Promise<Result>;
