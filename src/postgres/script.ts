import type { Row } from "../core/ports.ts";

/**
 * Sends a text of one or more statements and answers the rows of the last. Only migrations need this: what runs in
 * production is one statement at a time, through a Query.
 */
export type Script = (sql: string) => Promise<readonly Row[]>;

/** Does the work on one connection, in a transaction at read committed: all of it, or nothing where it throws. */
export type Transaction = <Result>(work: (script: Script) => Promise<Result>) => Promise<Result>;
