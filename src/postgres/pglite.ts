/**
 * Postgres by way of PGlite: in this process, in WebAssembly. It carries out one statement at a time, whoever asks.
 *
 *   const query = pglite(await PGlite.create("./data"));
 */
import { type Parameter, type Query, QueryError, type Row, type Transact } from "../core/ports.ts";
import { parsers } from "./columns.ts";
import { failedAfterSending } from "./failure.ts";
import { commitFailure } from "./pg-transact.ts";
import type { Script, Transaction } from "./script.ts";
import { OpenTransaction } from "./transaction-client.ts";

interface Answer {
  readonly rows: Row[];
}

interface Options {
  readonly parsers: typeof parsers;
  readonly serializers: Record<number, (value: string) => string>;
}

interface Scripted {
  exec(text: string, options?: Options): Promise<Answer[]>;
  query(text: string, parameters: unknown[], options?: Options): Promise<Answer>;
}

/** What is used of the class `PGlite`. */
export interface PgliteDatabase extends Scripted {
  readonly closed: boolean;
  transaction<Result>(work: (transaction: Scripted) => Promise<Result>): Promise<Result>;
}

/** PGlite would refuse texts for booleans and bytes; here every value travels as text. */
const asIs = (value: string) => value;
const options: Options = { parsers, serializers: { 16: asIs, 17: asIs } };

/**
 * A Query by PGlite, an embedded Postgres of one connection: for tests and for one's own machine.
 *
 * @example const query = pglite(await PGlite.create("./data"));
 */
export function pglite(database: PgliteDatabase): Query {
  const query = async (text: string, parameters: readonly Parameter[] = []): Promise<readonly Row[]> => {
    if (database.closed) throw new QueryError("This PGlite is closed.", { isRolledBack: true });
    const values = parameters.map((value) => (value === null ? null : String(value)));
    try {
      return (await database.query(text, values, options)).rows;
    } catch (error) {
      throw failedAfterSending(error);
    }
  };
  return Object.assign(query, { endpoint: "embedded", transact: pgliteTransact(database) });
}

function pgliteTransact(database: PgliteDatabase): Transact {
  return async (_, work) => {
    let isToCommit = false;
    try {
      return await database.transaction(async (transaction) => {
        const open = new OpenTransaction((text, values) => transaction.query(text, values));
        try {
          const result = await work(open, async (text, parameters) => {
            await open.flush();
            const values = parameters.map((value) => (value === null ? null : String(value)));
            return (await transaction.query(text, values, options)).rows;
          });
          isToCommit = true;
          return result;
        } finally {
          open.close();
        }
      });
    } catch (error) {
      throw isToCommit ? commitFailure(error) : error;
    }
  };
}

/** @internal For migrate. */
export function pgliteTransaction(database: PgliteDatabase): Transaction {
  return (work) =>
    database.transaction((transaction) => {
      const script: Script = async (text) => {
        try {
          return (await transaction.exec(text, options)).at(-1)?.rows ?? [];
        } catch (error) {
          throw failedAfterSending(error);
        }
      };
      return work(script);
    });
}
