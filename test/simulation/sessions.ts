/**
 * Sessions of the real Postgres, so that a call can be held between its execution and its COMMIT while others run. A
 * wait for a lock is something that is seen: by pg_blocking_pids, never by waiting a while.
 */
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { Query } from "../../src/core/ports.ts";
import { pg as queryOf } from "../../src/postgres/pg.ts";

const most = 6;

/** A delay before an answer of Postgres is heard. Nothing that is played may depend on it. */
export type Lag = () => Promise<void>;

/** A time limit that is never reached, in milliseconds. With a real limit the machine would decide what happens. */
export const unhurried = { timeoutMs: 2 ** 31 - 1 };

/**
 * Asks whether a session waits for an open transaction, also by way of others that wait. A session at work gives way
 * soon.
 */
const waits = `
  with recursive blocker (pid) as (
    select unnest(pg_blocking_pids($1)) union select unnest(pg_blocking_pids(b.pid)) from blocker b
  )
  select exists (
    select from blocker b join pg_stat_activity a on a.pid = b.pid where a.state like 'idle in transaction%'
  ) as waits`;

/** A statement under way. */
export interface Flight<Answer> {
  /** Resolves when the statement is answered, or waits for a lock. */
  progress(): Promise<"answered" | "waits">;
  /** The answer. Throws before the statement is answered. */
  readonly answer: Answer;
  /**
   * Takes the statement back, as if it had not been sent. It must wait for a lock, and be the first of its
   * transaction.
   */
  takeBack(): Promise<void>;
}

/** What one session can see of another one, and do to it. */
interface Watch {
  isWaiting(): Promise<boolean>;
  cancel(): Promise<void>;
}

interface SessionsOptions {
  readonly lag?: Lag | undefined;
  /** Has the database ready for another session. */
  readonly beforeLending?: (() => Promise<void>) | undefined;
}

export class Sessions {
  readonly #url: string;
  readonly #lag: Lag;
  readonly #beforeLending: () => Promise<void>;
  #free: Session[] = [];
  #lent: Session[] = [];
  #monitor: pg.Client | undefined;

  constructor(url: string, { lag = async () => {}, beforeLending = async () => {} }: SessionsOptions = {}) {
    this.#url = url;
    this.#lag = lag;
    this.#beforeLending = beforeLending;
  }

  /** Whether no more can be lent. How many have ever been opened says nothing: other worlds opened them. */
  get areLent(): boolean {
    return this.#lent.length >= most;
  }

  /** Whether one is lent, so that a statement may have to wait for its locks. */
  get isAnyLent(): boolean {
    return this.#lent.length > 0;
  }

  async lend(): Promise<Session> {
    await this.#beforeLending();
    const session = this.#free.pop() ?? (await this.#open());
    this.#lent.push(session);
    return session;
  }

  giveBack(session: Session): void {
    this.#lent = this.#lent.filter((other) => other !== session);
    this.#free.push(session);
  }

  /** Rolls back whatever stands open. */
  async clear(): Promise<void> {
    for (const session of this.#lent) await session.abort();
    this.#free.push(...this.#lent);
    this.#lent = [];
  }

  async end(): Promise<void> {
    await Promise.all([...this.#free, ...this.#lent].map(({ client }) => client.end()));
    await this.#monitor?.end();
    this.#free = [];
    this.#lent = [];
    this.#monitor = undefined;
  }

  async #open(): Promise<Session> {
    const client = await connected(this.#url);
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const pid = rows[0]?.pid ?? 0;
    return new Session(client, this.#lag, {
      isWaiting: async () => (await this.#ask<{ waits: boolean }>("waits", waits, pid))?.waits ?? false,
      cancel: async () => void (await this.#ask("cancel", "select pg_cancel_backend($1)", pid)),
    });
  }

  async #ask<Row extends pg.QueryResultRow>(name: string, text: string, pid: number): Promise<Row | undefined> {
    this.#monitor ??= await connected(this.#url);
    const { rows } = await this.#monitor.query<Row>({ name, text, values: [pid] });
    await this.#lag();
    return rows[0];
  }
}

export class Session {
  readonly client: pg.Client;
  readonly query: Query;
  readonly #watch: Watch;
  readonly #lag: Lag;

  constructor(client: pg.Client, lag: Lag, watch: Watch) {
    this.client = client;
    this.query = queryOf(client, unhurried);
    this.#lag = lag;
    this.#watch = watch;
  }

  /** Begins a transaction. Otherwise each statement is a transaction of its own. */
  async begin(): Promise<void> {
    await this.client.query("begin");
    await this.#lag();
  }

  async end(how: "commit" | "rollback"): Promise<void> {
    await this.client.query(how);
    await this.#lag();
  }

  /** Ends what is under way in it, though it waits for a lock. */
  async abort(): Promise<void> {
    if (await this.#watch.isWaiting()) await this.#watch.cancel();
    await this.end("rollback");
  }

  fly<Answer>(act: (via: Query) => Promise<Answer>): Flight<Answer> {
    let outcome: { readonly answer: Answer } | undefined;
    const answered = act(this.query).then(async (answer) => {
      await this.#lag();
      outcome = { answer };
    });
    return {
      progress: async () => {
        for (;;) {
          // Most statements are answered at once. Whoever asks for them again and again keeps the processor from them.
          await Promise.race([answered, delay(1)]);
          if (outcome !== undefined) return "answered";
          const isWaiting = this.#watch.isWaiting();
          await Promise.race([answered, isWaiting]);
          const waits = await isWaiting;
          if (outcome !== undefined) return "answered";
          if (waits) return "waits";
        }
      },
      get answer() {
        if (outcome === undefined) throw new Error("the statement is not answered");
        return outcome.answer;
      },
      takeBack: async () => {
        await this.#watch.cancel();
        await answered;
        await this.end("rollback");
        await this.begin();
      },
    };
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  return client;
}
