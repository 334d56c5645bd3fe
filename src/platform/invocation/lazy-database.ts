/**
 * A database that is opened by the first statement, and by the first one after its end again: what asks nothing needs
 * none, such as `/health`, or a refusal.
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
  return Object.defineProperty(lazy, "endpoint", { get: () => database().endpoint });
}
