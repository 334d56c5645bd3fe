/**
 * A database that the first statement opens, and after its end the next statement again. So a request that sends no
 * statement opens none, such as `GET /health` or one that is refused.
 */
import type { Query } from "../../core/ports.ts";

export type Database = Query & { readonly end?: () => Promise<void> };

export function lazyDatabase(open: () => Database): Query & { readonly end: () => Promise<void> } {
  let opened: Database | undefined;
  const database = (): Database => {
    opened ??= open();
    return opened;
  };
  const query = async (...call: Parameters<Query>) => await database()(...call);
  const end = async (): Promise<void> => {
    const ended = opened;
    opened = undefined;
    await ended?.end?.();
  };
  const lazy = Object.assign(query, { endpoint: "", end });
  return Object.defineProperties(lazy, {
    endpoint: { get: () => database().endpoint },
    transact: { get: () => database().transact },
    sealing: { get: () => database().sealing },
  });
}
