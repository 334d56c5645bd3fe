/**
 * Postgres by way of PGlite: in this process, in WebAssembly. It carries out one statement at a time, whoever asks.
 *
 *   const query = pglite(await PGlite.create("./data"));
 */
import { type Parameter, type Query, QueryError, type Row } from "../core/ports.ts";
import { parsers } from "./columns.ts";
import { failedAfterSending } from "./failure.ts";
import type { Script, Transaction } from "./script.ts";

interface Answer {
  readonly rows: Row[];
}

interface Options {
  readonly parsers: typeof parsers;
  readonly serializers: Record<number, (value: string) => string>;
}

interface Scripted {
  exec(text: string, options?: Options): Promise<Answer[]>;
}

/** What is used of the class `PGlite`. */
export interface PgliteDatabase extends Scripted {
  readonly closed: boolean;
  query(text: string, parameters: (string | null)[], options: Options): Promise<Answer>;
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
  return Object.assign(query, { endpoint: "embedded" });
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
