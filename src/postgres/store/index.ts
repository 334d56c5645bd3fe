/**
 * Values beyond the limit are kept in a store of yours, and the database has their names.
 *
 *   const database = withStore(pg(pool), { store: r2Store(env.VALUES) });
 */
import type { Query } from "../../core/ports.ts";
import { Keeper } from "./keeper.ts";
import { Storing } from "./storing.ts";
import type { ValueStore } from "./value-store.ts";

export { type R2BucketLike, r2Store } from "./r2.ts";
export { type S3ClientLike, s3Store } from "./s3.ts";
export type { ValueStore } from "./value-store.ts";

const kib = 1024;

export interface StoreOptions {
  readonly store: ValueStore;
  /** Larger values go to the store, in bytes of stored text. Default: 256 KiB. */
  readonly above?: number;
  /** The most bytes of one value. Default: 32 MiB. */
  readonly mostBytes?: number;
  /**
   * The most bytes that one answer of the database brings from the store: all values of the history of a run that begins a turn. A run
   * that needs more is blocked. Default: 64 MiB, as a Worker has 128.
   */
  readonly memoryBytes?: number;
  /** How long one call of the store may take, in milliseconds. Default: 20 s, as a call of the database. */
  readonly timeoutMs?: number;
}

/**
 * Answers the same database, with a store for inputs, results and answers that are large. Give it to `serve` wherever you would give the
 * database. With encryption, the store keeps what is encrypted. All deployments of a namespace need the same store.
 *
 * A run that holds a value which the store does not have is blocked. While the store does not answer, it is as if the database did not.
 *
 * @example serve({ workflows, database: withStore(pg(pool), { store: folderStore("/var/values") }), secrets });
 */
export function withStore<Database extends Query>(database: Database, options: StoreOptions): Database & Query {
  const { above = 256 * kib, mostBytes = 32 * 1024 * kib, memoryBytes = 64 * 1024 * kib, timeoutMs = 20_000 } = options;
  const keeper = new Keeper(options.store, timeoutMs);
  const sealing = new Storing({ keeper, before: database.sealing, above, mostBytes, memoryBytes });
  const send: Query = Object.assign((...call: Parameters<Query>) => database(...call), { endpoint: database.endpoint });
  return Object.assign(send, database, { sealing });
}
