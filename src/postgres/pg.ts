/**
 * Postgres by way of node-postgres (`pg`), or anything with the same shape, such as the Pool of Neon's driver.
 *
 *   const query = pg(new Pool({ connectionString: process.env.DATABASE_URL }));
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { type Parameter, type Query, QueryError, type Row } from "../core/ports.ts";
import { parserOf } from "./columns.ts";
import { type Address, endpointOf } from "./endpoint.ts";
import { failedAfterSending, failedBeforeSending } from "./failure.ts";
import type { Script, Session, Transaction } from "./script.ts";

interface Statement {
  readonly text: string;
  readonly values?: Parameter[];
  readonly name?: string;
  readonly queryMode?: "extended";
  readonly types: { getTypeParser(typeOid: number): (text: string) => unknown };
  readonly query_timeout?: number;
}

interface Answer {
  readonly rows: Row[];
}

interface Events {
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** A connection: node-postgres' `Client`, connected already. */
export interface PgClient extends Events {
  readonly host?: string;
  readonly database?: string | undefined;
  readonly processID?: number | null | undefined;
  query(statement: Statement): Promise<Answer | Answer[]>;
}

interface LentClient extends PgClient {
  off(event: "error", listener: (error: Error) => void): unknown;
  release(destroy?: boolean): void;
}

/** node-postgres' `Pool`. */
export interface PgPool extends Events {
  readonly totalCount: number;
  readonly options: Address;
  connect(): Promise<LentClient>;
  end?(): Promise<void>;
}

export interface PgOptions {
  /** Whether statements are prepared once per connection. False behind a pooler in transaction mode. Default: true. */
  readonly prepare?: boolean;
  /** What the database is called (see Query.endpoint) where its address does not tell: behind a tunnel, or Hyperdrive. */
  readonly endpoint?: string;
}

export interface PgQuery extends Query {
  /** Of a pool: ends it. For hosts that make one for each request; nobody else calls it. */
  readonly end?: () => Promise<void>;
}

/**
 * A Query by node-postgres. The pool stays yours: you end it.
 *
 * @param database a Pool, or a connected Client (for `client.startIn`, inside your own transaction)
 * @example const query = pg(new Pool({ connectionString: process.env.DATABASE_URL, max: 5 }));
 */
export function pg(database: PgPool | PgClient, options: PgOptions = {}): PgQuery {
  const { prepare = true, endpoint = endpointOf(isPool(database) ? database.options : database) } = options;
  const withConnection = connections(database);
  const query = async (text: string, parameters: readonly Parameter[] = []): Promise<readonly Row[]> => {
    // Without the extended protocol, a text without parameters might hold several statements.
    const statement: Statement = { text, values: [...parameters], types, queryMode: "extended" };
    return await withConnection((send) => send(prepare ? { ...statement, name: statementName(text) } : statement));
  };
  if (!isPool(database) || database.end === undefined) return Object.assign(query, { endpoint });
  const end = database.end.bind(database);
  return Object.assign(query, { endpoint, end });
}

/** @internal For migrate. */
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

/** @internal For migrate. A connection of a pool is destroyed afterwards, with all that was set in it. */
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

/** A migration takes as long as it takes, whatever limit the pool sets for statements (0 would mean the pool's). */
const unlimited = { types, query_timeout: 2 ** 31 - 1 };

type Send = (statement: Statement) => Promise<readonly Row[]>;

/** Lends a connection to the work and takes it back afterwards. */
type WithConnection = <Result>(work: (send: Send) => Promise<Result>) => Promise<Result>;

function connections(database: PgPool | PgClient): WithConnection {
  return isPool(database) ? ofPool(database) : ofClient(database);
}

function isPool(database: PgPool | PgClient): database is PgPool {
  return "totalCount" in database;
}

function ofPool(pool: PgPool): WithConnection {
  // An idle connection that dies (a server restarts, Neon falls asleep) would end the process; the pool replaces it.
  pool.on("error", ignore);
  return async (work) => {
    const client = await lend(pool);
    // So would one that dies at work, besides rejecting what it worked at.
    client.on("error", ignore);
    let isSound = true;
    try {
      return await work(async (statement) => {
        try {
          return rowsOf(await client.query(statement));
        } catch (error) {
          const failure = failedAfterSending(error);
          isSound &&= failure.isRolledBack;
          throw failure;
        }
      });
    } finally {
      client.off("error", ignore);
      client.release(!isSound);
    }
  };
}

async function lend(pool: PgPool): Promise<LentClient> {
  return await pool.connect().catch((error: unknown) => {
    throw failedBeforeSending(error);
  });
}

function ofClient(client: PgClient): WithConnection {
  let isBroken = false;
  client.on("error", () => {
    isBroken = true;
  });
  const send: Send = async (statement) => {
    if (isBroken) throw new QueryError("The connection broke before this statement.", { isRolledBack: true });
    try {
      return rowsOf(await client.query(statement));
    } catch (error) {
      const failure = failedAfterSending(error);
      // Postgres says farewell before the connection ends.
      isBroken ||= failure.sqlState !== undefined && !failure.isRolledBack;
      throw failure;
    }
  };
  // One after the other: node-postgres means to drop the queue of its own.
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(() => work(send));
    last = mine.catch(ignore);
    return mine;
  };
}

function rowsOf(answer: Answer | Answer[]): readonly Row[] {
  return (Array.isArray(answer) ? answer.at(-1) : answer)?.rows ?? [];
}

const names = new Map<string, string>();

/** The same in every process: a pooler may hand a session, and what was prepared in it, from one to another. */
function statementName(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `layover_${bytesToHex(sha256(utf8ToBytes(text))).slice(0, 24)}`;
  names.set(text, name);
  return name;
}

function ignore(): void {}
