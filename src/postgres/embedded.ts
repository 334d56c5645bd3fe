/**
 * Postgres in a folder, for development and tests: PGlite, in this process alone. What was committed survives the end
 * of the process, `kill -9` included; not the loss of power, as PGlite leaves the moment of writing to the system.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Parameter, Query } from "../core/ports.ts";
import { lockFolder } from "./folder-lock.ts";
import { importPglite } from "./import-pglite.ts";
import { type PgliteDatabase, pglite } from "./pglite.ts";

export interface Embedded {
  readonly query: Query;
  /** The database, for migrate. */
  readonly database: PgliteDatabase;
  /** Lets another process have the folder. */
  close(): Promise<void>;
}

/**
 * Opens a data folder, and makes it where there is none. Not yet migrated.
 *
 * @throws SetupError `folder_in_use` while another process has it open; one that died counts no more.
 */
export async function openEmbedded(folder: string): Promise<Embedded> {
  const { PGlite } = await importPglite();
  mkdirSync(folder, { recursive: true });
  const lock = lockFolder(resolve(folder));
  try {
    const data = join(folder, "postgres");
    const marker = join(folder, "being-made");
    // A first start that was cut off has left files, but nothing that anybody stored.
    if (existsSync(marker)) rmSync(data, { recursive: true, force: true });
    if (!existsSync(data)) writeFileSync(marker, "");
    const database = await PGlite.create(data, {
      relaxedDurability: false,
      startParams: [...PGlite.defaultStartParams, "-c", "max_wal_size=64MB", "-c", "min_wal_size=32MB"],
    });
    rmSync(marker, { force: true });

    let closed: Promise<void> | undefined;
    const close = async () => {
      await database.close();
      lock.release();
    };
    return { query: withCheckpoints(database), database, close: () => (closed ??= close()) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * PGlite has no process that would do it, and Postgres alone in a process never does it by itself: the log grew by
 * 100 MB with every 8,000 writes of 5 kB, and all of it is read again after a crash. Costs about 10 ms each time.
 */
function withCheckpoints(database: PgliteDatabase): Query {
  const query = pglite(database);
  const { endpoint, transact } = query;
  let statements = 0;
  const counted: Query = Object.assign(
    async (text: string, parameters?: readonly Parameter[]) => {
      statements += 1;
      if (statements % statementsPerCheckpoint === 0) await query("checkpoint");
      return await query(text, parameters);
    },
    { endpoint, transact },
  );
  return counted;
}

const statementsPerCheckpoint = 5_000;
