/**
 * Postgres by node-postgres (`pg`), or by anything of the same shape, such as the Pool of Neon's driver.
 *
 *   const query = pg(new Pool({ connectionString: process.env.DATABASE_URL, keepAlive: true }));
 *
 * The time limit of a statement is `timeoutMs` here, and not the pool's `query_timeout`. After a `query_timeout`,
 * node-postgres lends the connection to the next caller while it still waits for an answer (brianc/node-postgres#3399).
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { type Parameter, type Query, QueryError, type Row } from "../core/ports.ts";
import { parserOf } from "./columns.ts";
import { consequenceOf } from "./consequence.ts";
import { endpointOf } from "./endpoint.ts";
import {
  connections,
  ignore,
  isPool,
  lend,
  ofClient,
  type PgClient,
  type PgPool,
  type Statement,
} from "./pg-connections.ts";
import { pgTransact } from "./pg-transact.ts";
import type { Script, Session, Transaction } from "./script.ts";

export type { PgClient, PgPool } from "./pg-connections.ts";

export interface PgOptions {
  /**
   * Whether statements are prepared once per connection. Behind a pooler in transaction mode they cannot be. The first
   * statement that fails for this reason is sent again unprepared, and so are all later ones; `false` avoids that
   * failure. Default: true.
   */
  readonly prepare?: boolean;
  /**
   * How long to wait for a connection, and then for the answer to each statement, in milliseconds. A connection that
   * does not answer in time is ended. Its statement may have taken effect, or may still do so. If the pool has no
   * `connectionTimeoutMillis`, it gets this value. Default: 15,000, so that a call can be sent a second time within its
   * 20 s.
   */
  readonly timeoutMs?: number;
  /** What the database is called (see Query.endpoint) where its address does not tell: behind a tunnel, or Hyperdrive. */
  readonly endpoint?: string;
}

export interface PgQuery extends Query {
  /** Ends the pool. It is for hosts that make a pool for each request; nobody else calls it. */
  readonly end?: () => Promise<void>;
}

/**
 * Makes a Query by node-postgres. The pool stays yours, so you end it.
 *
 * @param database a Pool, or a connected Client (for `client.startIn`, inside your own transaction)
 * @example const query = pg(new Pool({ connectionString: process.env.DATABASE_URL, keepAlive: true, max: 5 }));
 */
export function pg(database: PgPool | PgClient, options: PgOptions = {}): PgQuery {
  const { endpoint = endpointOf(isPool(database) ? database.options : database), timeoutMs = 15_000 } = options;
  const withConnection = connections(database, timeoutMs);
  let { prepare = true } = options;
  const query = async (text: string, parameters: readonly Parameter[] = []): Promise<readonly Row[]> => {
    // Without the extended protocol, a text without parameters might hold several statements.
    const statement: Statement = { text, values: [...parameters], types, queryMode: "extended" };
    try {
      return await withConnection((send) => send(prepare ? { ...statement, name: statementName(text) } : statement));
    } catch (error) {
      if (error instanceof QueryError && consequenceOf(error).again === "unprepared") prepare = false;
      throw error;
    }
  };
  if (!isPool(database)) return Object.assign(query, { endpoint });
  const transact = pgTransact(database, timeoutMs);
  if (database.end === undefined) return Object.assign(query, { endpoint, transact });
  const end = database.end.bind(database);
  return Object.assign(query, { endpoint, transact, end });
}

/** @internal For migrate. It has no time limit, since a migration may take as long as it needs. */
export function pgTransaction(database: PgPool | PgClient): Transaction {
  const withConnection = connections(database);
  return (work) =>
    withConnection(async (send) => {
      const script: Script = (text) => send({ text, ...unlimited });
      await script("begin isolation level read committed read write");
      try {
        const result = await work(script);
        await script("commit");
        return result;
      } catch (error) {
        await script("rollback").catch(ignore);
        throw error;
      }
    });
}

/**
 * @internal For migrate, and also without a time limit. A connection of a pool is destroyed afterwards, with all its
 *   settings.
 */
export function pgSession(database: PgPool | PgClient): Session {
  return async (work) => {
    const lent = isPool(database) ? await lend(database) : undefined;
    const client = lent ?? database;
    if (isPool(client)) throw new TypeError("a pool lends connections and is none");
    try {
      return await ofClient(client)((send) =>
        work((text) => send({ text, ...unlimited }), client.processID ?? undefined),
      );
    } finally {
      lent?.release(true);
    }
  };
}

const types = { getTypeParser: parserOf };

/**
 * The options of a migration's statements: no time limit, whatever the pool sets. (0 would mean the pool's own limit.)
 */
const unlimited = { types, query_timeout: 2 ** 31 - 1 };

const names = new Map<string, string>();

/** The same in every process: a pooler may hand a session, and what was prepared in it, from one to another. */
function statementName(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `layover_${bytesToHex(sha256(utf8ToBytes(text))).slice(0, 24)}`;
  names.set(text, name);
  return name;
}
