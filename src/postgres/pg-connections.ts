/**
 * Lends the connections of node-postgres, limits how long each may take, and ends those that are of no use any more.
 *
 * After a failover the next connection of the pool is as old as the one that failed. It leads to the same server, which
 * is read-only or gone. So after such a failure every older connection is ended when it would be lent.
 */
import { QueryError, type Row } from "../core/ports.ts";
import { within } from "../core/waits.ts";
import { consequenceOf } from "./consequence.ts";
import type { Address } from "./endpoint.ts";
import { failedAfterSending, failedBeforeSending } from "./failure.ts";
import { hostClock } from "./host-clock.ts";

export interface Statement {
  readonly text: string;
  readonly values?: unknown[];
  readonly name?: string;
  readonly queryMode?: "extended";
  readonly types?: { getTypeParser(typeOid: number): (text: string) => unknown };
  readonly query_timeout?: number;
}

interface Answer {
  readonly rows: Row[];
}

interface Events {
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** A connection, as node-postgres' `Client`. It must be connected already. */
export interface PgClient extends Events {
  readonly host?: string;
  readonly database?: string | undefined;
  readonly processID?: number | null | undefined;
  query(statement: Statement): Promise<Answer | Answer[]>;
  end?(): Promise<void>;
}

interface LentClient extends PgClient {
  release(destroy?: boolean): void;
}

/** node-postgres' `Pool`. */
export interface PgPool extends Events {
  readonly totalCount: number;
  readonly options: Address & { connectionTimeoutMillis?: number | undefined };
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect", listener: (client: Events) => void): unknown;
  connect(): Promise<LentClient>;
  end?(): Promise<void>;
}

export type Send = (statement: Statement) => Promise<readonly Row[]>;

/** Lends a connection to the work and takes it back afterwards. */
export type WithConnection = <Result>(work: (send: Send) => Promise<Result>) => Promise<Result>;

/**
 * Lends connections of a pool, or the one connection. `timeoutMs`: the limit of each statement, and of the wait for a
 * connection. Left out: no limit.
 */
export function connections(database: PgPool | PgClient, timeoutMs?: number): WithConnection {
  return isPool(database) ? ofPool(database, timeoutMs) : ofClient(database, timeoutMs);
}

export function isPool(database: PgPool | PgClient): database is PgPool {
  return "totalCount" in database;
}

function ofPool(pool: PgPool, timeoutMs: number | undefined): WithConnection {
  watchPool(pool);
  const ages = new Ages();
  pool.on("connect", (client) => ages.begin(client));
  // A connection that is being opened holds a place in the pool until the pool gives it up. By default the pool never
  // does.
  if (timeoutMs !== undefined) pool.options.connectionTimeoutMillis ||= timeoutMs;

  const lendYoung = async (): Promise<LentClient> => {
    for (let older = pool.totalCount; ; older -= 1) {
      const client = await lend(pool, timeoutMs);
      if (older <= 0 || !ages.isOutdated(client)) return client;
      client.release(true);
    }
  };

  return async (work) => {
    const client = await lendYoung();
    let isSound = true;
    try {
      return await work(async (statement) => {
        try {
          return await answered(client, statement, timeoutMs);
        } catch (error) {
          const failure = failedAfterSending(error);
          const { connection } = consequenceOf(failure);
          if (connection === "ended with all older ones") ages.outdate(client);
          // A server that has not changed gives the same answer on a new connection.
          const isNoBetterAnew = connection !== "ended" && failure.isRolledBack && !ages.isOutdated(client);
          isSound &&= connection === "kept" || isNoBetterAnew;
          throw failure;
        }
      });
    } finally {
      client.release(!isSound);
    }
  };
}

const watched = new WeakSet<Events>();

/**
 * Keeps the process alive when a connection breaks. Node ends a process over an `error` event without a listener. A
 * connection at work rejects its statement, and the pool replaces an idle one (the server restarts, Neon falls asleep).
 */
function watch(source: Events): void {
  if (watched.has(source)) return;
  watched.add(source);
  source.on("error", ignore);
}

/** Watches a pool, and each new connection before it is lent: Postgres may accept it and end it in one packet. */
function watchPool(pool: PgPool): void {
  if (watched.has(pool)) return;
  watch(pool);
  pool.on("connect", watch);
}

/** Lends a connection. Without a limit it waits as long as the pool allows. */
export async function lend(pool: PgPool, timeoutMs?: number): Promise<LentClient> {
  watchPool(pool);
  const connecting = pool.connect();
  const late = () => {
    // Nobody waits for it any more, and nothing was sent on it.
    connecting.then((client) => client.release(), ignore);
    return new Error(
      `There was no connection to Postgres within ${timeoutMs} ms: it does not answer, or the whole pool is at work.`,
    );
  };
  try {
    const client = await within(hostClock, timeoutMs, connecting, late);
    watch(client); // it may be older than the watch over its pool
    return client;
  } catch (error) {
    throw failedBeforeSending(error);
  }
}

/**
 * The pause before connections are outdated again. A new connection may lead to another server. If the only server
 * stays read-only, opening a connection for each call would only be a burden for it.
 */
const outdatingPauseMs = 5_000;

/** Which connections of a pool are older than the failure that made them worthless. */
class Ages {
  readonly #ages = new WeakMap<object, number>();
  #current = 0;
  #outdatedAt = Number.NEGATIVE_INFINITY;

  begin(client: object): void {
    this.#ages.set(client, this.#current);
  }

  isOutdated(client: object): boolean {
    return (this.#ages.get(client) ?? 0) < this.#current;
  }

  /** Outdates all connections that exist now, unless the failed one was outdated already, or others were a moment ago. */
  outdate(failed: object): void {
    const now = performance.now();
    if (this.isOutdated(failed) || now - this.#outdatedAt < outdatingPauseMs) return;
    this.#outdatedAt = now;
    this.#current += 1;
  }
}

export function ofClient(client: PgClient, timeoutMs?: number): WithConnection {
  let isBroken = false;
  client.on("error", () => {
    isBroken = true;
  });
  const send: Send = async (statement) => {
    if (isBroken) throw new QueryError("The connection broke before this statement.", { isRolledBack: true });
    const late = () => {
      isBroken = true;
      // The connection may belong to a pool. That would lend it to others while it still waits for this answer.
      client.end?.().catch(ignore);
    };
    try {
      return await answered(client, statement, timeoutMs, late);
    } catch (error) {
      const failure = failedAfterSending(error);
      // Postgres sends a last error before it ends a connection.
      isBroken ||= failure.sqlState !== undefined && !failure.isRolledBack;
      throw failure;
    }
  };
  // Works go one after the other. node-postgres queues statements by itself, but means to stop doing so.
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(() => work(send));
    last = mine.catch(ignore);
    return mine;
  };
}

async function answered(
  client: PgClient,
  statement: Statement,
  timeoutMs: number | undefined,
  onLate: () => void = ignore,
): Promise<readonly Row[]> {
  const late = () => {
    onLate();
    return new Error(`Postgres did not answer within ${timeoutMs} ms.`);
  };
  const answer = await within(hostClock, timeoutMs, client.query(statement), late);
  return (Array.isArray(answer) ? answer.at(-1) : answer)?.rows ?? [];
}

export function ignore(): void {}
