/**
 * What lives and dies as a whole: a process, or an isolate of Cloudflare's. Each of its calls waits at a port until the
 * world lets it pass. One that died is never heard of again: what it waited for does not come.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type ValueStore, withStore } from "layover/store";
import type { Client } from "../../src/client/over-postgres/client.ts";
import {
  type Parameter,
  type Query,
  QueryError,
  type Sealing,
  type Transact,
  UnknownCommit,
} from "../../src/core/ports.ts";
import { within } from "../../src/core/waits.ts";
import type { Deployment } from "../../src/engine/options.ts";
import { SkewedTimers, type SkewedTimersOptions } from "./timers.ts";
import { UnseenWork } from "./unseen-work.ts";

export type Port = "query" | "dispatch" | "alarm" | "store";

/** A call that waits at a port. */
export interface Waiting {
  readonly port: Port;
  /** The SQL function that is called, what is dispatched or armed, or the verb of a store. */
  readonly what: string;
  /** What a query sends: the function's one json. */
  readonly parameter: string | undefined;
  /** Carries it out in the world outside, and answers how to tell the process what came of it. `via`: a query's way. */
  readonly act: (via?: Query) => Promise<() => void>;
  readonly reject: (error: Error) => void;
}

export interface MortalOptions extends SkewedTimersOptions {
  /** What people call it who read what happened. */
  readonly name?: string | undefined;
  readonly deployment?: Deployment | undefined;
  readonly query: Query;
  /**
   * Makes one statement of all that a transaction has written and the last one of it. Then the transaction of a step is one
   * call, as on Neon over HTTP. Left out: it is done as `query` does it.
   */
  readonly together?: ((writes: readonly Sent[], last: Sent) => Sent) | undefined;
  /** How long the driver waits for a statement's answer, in milliseconds. Default: for ever. */
  readonly answersWithinMs?: number | undefined;
  /** A store outside that keeps values of more than so many bytes. Each of its calls waits at a port. Left out: none. */
  readonly values?: { readonly store: ValueStore; readonly above: number } | undefined;
}

export interface Sent {
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

/** How long a call of a store may take: the default of `layover/store`. */
const storeWithinMs = 20_000;
/** A real timer would not know the world's time. */
const forEverMs = 2 ** 31 - 1;

/** Who carries out a handler or a body. */
export const atWork = new AsyncLocalStorage<Mortal>();

export abstract class Mortal {
  readonly name: string;
  /** Which deployment's code it runs. */
  readonly deployment: Deployment | undefined;
  readonly timers: SkewedTimers;
  /** Its way to the database. */
  readonly query: Query;
  /** Resolves when it has died. */
  readonly gone: Promise<void>;
  readonly #die: () => void;
  readonly #unseen = new UnseenWork((by) => {
    if (!this.isDead) this.resting += by;
  });
  /** Handlers that were given their macrotask and did not have it yet. */
  resting = 0;
  isDead = false;
  /** A group is under way of those that may have ended their process. */
  hasGroup = false;
  /** It takes nothing yet. */
  isBeginning = false;
  waiting: Waiting[] = [];

  constructor({ name = "the process", deployment, query, together, answersWithinMs, values, ...clock }: MortalOptions) {
    this.name = name;
    this.deployment = deployment;
    const gone = Promise.withResolvers<void>();
    this.gone = gone.promise;
    this.#die = gone.resolve;
    this.timers = new SkewedTimers(clock);
    const ported = (...[text, parameters]: Parameters<Query>): ReturnType<Query> => {
      const send = (via = query) => via(text, parameters);
      const answer = this.#pass("query", functionIn(text), send, parameters?.[0]);
      return within(this.timers, answersWithinMs, answer, unanswered);
    };
    const { endpoint, transact, sealing } = values === undefined ? query : this.#withStore(query, values);
    const atOnce = together && transactAtOnce(ported, together);
    this.query = Object.assign(ported, {
      endpoint,
      transact: atOnce ?? (transact && this.#transacting(transact)),
      sealing: sealing && this.#sealing(sealing),
    });
  }

  /** Asks it for something, as somebody outside does. */
  abstract request<Answer>(question: (client: Client) => Promise<Answer>): Promise<Answer>;

  /** Calls the world outside. */
  ask<Answer>(port: Port, what: string, outside: () => Promise<Answer>): Promise<Answer> {
    return this.#pass(port, what, outside);
  }

  /** Resolves when microtasks are drained and one macrotask has passed. */
  rest(): Promise<void> {
    if (this.isDead) return new Promise(() => {});
    this.resting += 1;
    return new Promise((resolve) => {
      setImmediate(() => {
        if (this.isDead) return;
        this.resting -= 1;
        resolve();
      });
    });
  }

  die(): void {
    this.isDead = true;
    this.waiting = [];
    this.resting = 0;
    this.timers.clear();
    this.#die();
  }

  #withStore(query: Query, { store, above }: NonNullable<MortalOptions["values"]>): Query {
    const call = <Answer>(what: string, act: () => Promise<Answer>) =>
      this.#unseen.outside(() => within(this.timers, storeWithinMs, this.#pass("store", what, act), unanswered));
    const { signal } = new AbortController();
    const ported: ValueStore = {
      put: (key, bytes) => call("put", () => store.put(key, bytes, signal)),
      get: (key) => call("get", () => store.get(key, signal)),
      delete: (keys) => call("delete", () => store.delete(keys, signal)),
    };
    return withStore(query, { store: ported, above, timeoutMs: forEverMs });
  }

  #sealing(sealing: Sealing): Sealing {
    const whileAlive = async <Answer>(act: () => Promise<Answer>): Promise<Answer> => {
      const answer = await this.#unseen.run(act);
      return this.isDead ? await new Promise<never>(() => {}) : answer;
    };
    /** A statement amid the work waits at its port, as any other. */
    const passing = (query: Query): Query => {
      const send = (...call: Parameters<Query>) => this.#unseen.outside(() => query(...call));
      return Object.assign(send, { endpoint: query.endpoint });
    };
    const { store } = sealing;
    return {
      store: store && { ...store, delete: (keys) => whileAlive(() => store.delete(keys)) },
      seal: (name, call, query) => whileAlive(() => sealing.seal(name, call, passing(query))),
      open: (name, call, answer) => whileAlive(() => sealing.open(name, call, answer)),
    };
  }

  /** Lets the begin, each statement and the commit of a transaction wait at the port. One that died is rolled back. */
  #transacting(transact: Transact): Transact {
    type Given = Parameters<Parameters<Transact>[1]>;
    return async (limitMs, work) => {
      const began = Promise.withResolvers<Given>();
      const worked = Promise.withResolvers<void>();
      let ended: Promise<void> | undefined;
      const begin = () => {
        const gone = this.gone.then(() => Promise.reject(new Error("its process died")));
        ended = transact(limitMs, async (...given) => {
          began.resolve(given);
          await Promise.race([worked.promise, gone]);
        });
        ended.catch(began.reject);
        return began.promise;
      };
      const [client, send] = await this.#pass("query", "begin", begin);
      try {
        const result = await work(
          {
            write: (text, values) => client.write(text, values),
            query: (text, values) => this.#pass("query", "transaction", () => client.query(text, values)),
          },
          (text, parameters) => this.#pass("query", functionIn(text), () => send(text, parameters)),
        );
        await this.#pass("query", "commit", async () => {
          worked.resolve();
          await ended;
        }).catch((error: unknown) => {
          const isRolledBack = error instanceof QueryError && error.isRolledBack;
          throw isRolledBack || !(error instanceof QueryError) ? error : new UnknownCommit(error.message);
        });
        return result;
      } catch (error) {
        worked.reject(error);
        await this.#pass("query", "rollback", async () => void (await ended?.catch(() => {})));
        throw error;
      }
    };
  }

  #pass<Answer>(
    port: Port,
    what: string,
    outside: (via?: Query) => Promise<Answer>,
    parameter?: Parameter,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const act = (via?: Query) =>
        outside(via).then(
          (answer) => () => resolve(answer),
          (error: Error) => () => reject(error),
        );
      const sent = parameter === undefined ? undefined : String(parameter);
      if (!this.isDead) this.waiting.push({ port, what, parameter: sent, act, reject });
    });
  }
}

/** Carries out the transaction of a step in one call. */
function transactAtOnce(
  send: (...statement: Parameters<Query>) => ReturnType<Query>,
  together: (writes: readonly Sent[], last: Sent) => Sent,
): Transact {
  return async (_, work) => {
    const writes: Sent[] = [];
    const rowless = () => Promise.reject(new Error("its rows are not there before the end of the transaction"));
    const client = {
      write: (text: string, values: readonly unknown[] = []) =>
        void writes.push({ text, parameters: values.map((value) => String(value)) }),
      query: rowless,
    };
    return await work(client, async (text, parameters) => {
      const { text: all, parameters: values } = together(writes, { text, parameters });
      return await send(all, values).catch((error: unknown) => {
        throw error instanceof QueryError && !error.isRolledBack ? new UnknownCommit(error.message) : error;
      });
    });
  };
}

function unanswered(): QueryError {
  return new QueryError("Postgres did not answer in time", { isRolledBack: false });
}

function functionIn(text: string): string {
  return /layover\.(\w+)/.exec(text)?.[1] ?? text;
}
