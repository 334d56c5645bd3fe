/** The kit's database as the user's deployment wraps its own: encrypted, with a store for large values, or both. */
import type { Query, Sealing } from "../core/ports.ts";

/** Wraps a database: `(database) => withStore(database, { store })`. */
export type Wrap = (database: Query) => Query;

/** Carries out a call that leaves the process, and knows that it is under way. */
export type Outside = <Answer>(call: () => Promise<Answer>) => Promise<Answer>;

/** Answers the wrapped database. All of its calls, and those of its store, go by `outside`. */
export function wrappedBy(wrap: Wrap, database: Query, outside: Outside): Query {
  const wrapped = wrap(database);
  const { endpoint, transact, sealing } = wrapped;
  const send = (...call: Parameters<Query>) => outside(() => wrapped(...call));
  return Object.assign(send, { endpoint, transact, sealing: sealing && sealingBy(sealing, outside) });
}

function sealingBy(sealing: Sealing, outside: Outside): Sealing {
  const { store } = sealing;
  return {
    store: store && { ...store, delete: (keys) => outside(() => store.delete(keys)) },
    seal: (name, call, query) => outside(() => sealing.seal(name, call, query)),
    open: (name, call, answer) => outside(() => sealing.open(name, call, answer)),
  };
}
