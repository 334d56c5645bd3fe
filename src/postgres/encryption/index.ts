/**
 * Encryption at rest: whatever layover writes of your values is encrypted before it is sent to Postgres.
 *
 *   const database = encrypted(pg(pool), {
 *     current: "k1",
 *     keys: { k1: process.env.LAYOVER_KEY_1 },
 *     sameness: process.env.LAYOVER_SAMENESS,
 *   });
 */
import type { Query } from "../../core/ports.ts";
import { type EncryptionKeys, KeyRing } from "./keys.ts";
import { Sealer } from "./sealer.ts";

export type { EncryptionKeys } from "./keys.ts";

/**
 * Answers the same database, encrypted: by AES-256-GCM, with a key for each namespace. Give it to `serve` wherever you would
 * give the database. Values that are there already, or that SQL writes, stay readable.
 *
 * A run that holds a value which cannot be opened is blocked, and goes on with the next deployment that has its key.
 *
 * @throws LayoverError `invalid_secret`
 * @example serve({ workflows, database: encrypted(pg(pool), { current: "k2", keys: { k2, k1 }, sameness }), secrets });
 */
export function encrypted<Database extends Query>(database: Database, keys: EncryptionKeys): Database & Query {
  const sealing = new Sealer(new KeyRing(keys));
  const send: Query = Object.assign((...call: Parameters<Query>) => database(...call), { endpoint: database.endpoint });
  return Object.assign(send, database, { sealing: database.sealing?.upon?.(sealing) ?? sealing });
}
