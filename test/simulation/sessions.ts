/**
 * Sessions of the real Postgres, so that a call can be held between its execution and its COMMIT while others run. A wait
 * for a lock is something that is seen: by pg_blocking_pids, never by waiting a while.
 */
import pg from "pg";
import type { Query } from "../../src/core/ports.ts";
import { pg as queryOf } from "../../src/postgres/pg.ts";

const most = 6;

/** Whether a session waits, by way of others that wait, for a transaction that stands open. Who is at work gives way soon. */
const waits = `
  with recursive blocker (pid) as (
    select unnest(pg_blocking_pids($1)) union select unnest(pg_blocking_pids(b.pid)) from blocker b
  )
  select exists (
    select from blocker b join pg_stat_activity a on a.pid = b.pid where a.state like 'idle in transaction%'
  ) as waits`;

/** A statement under way. */
export interface Flight<Answer> {
  /** Until it is answered, or waits for a lock. */
  progress(): Promise<"answered" | "waits">;
  /** Once it is answered. */
  readonly answer: Answer;
}

export class Sessions {
  readonly #url: string;
  #free: Session[] = [];
  #all: Session[] = [];
  #monitor: pg.Client | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  /** Whether no more can be lent. */
  get areLent(): boolean {
    return this.#free.length === 0 && this.#all.length >= most;
  }

  /** Whether one is lent, so that a statement may have to wait for its locks. */
  get isAnyLent(): boolean {
    return this.#free.length < this.#all.length;
  }

  async lend(): Promise<Session> {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const client = await connected(this.#url);
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const session = new Session(client, () => this.#isWaiting(rows[0]?.pid ?? 0));
    this.#all.push(session);
    return session;
  }

  giveBack(session: Session): void {
    this.#free.push(session);
  }

  async end(): Promise<void> {
    await Promise.all([...this.#all.map(({ client }) => client.end()), this.#monitor?.end()]);
    this.#free = [];
    this.#all = [];
    this.#monitor = undefined;
  }

  async #isWaiting(pid: number): Promise<boolean> {
    this.#monitor ??= await connected(this.#url);
    const { rows } = await this.#monitor.query<{ waits: boolean }>({ name: "waits", text: waits, values: [pid] });
    return rows[0]?.waits ?? false;
  }
}

export class Session {
  readonly client: pg.Client;
  readonly query: Query;
  readonly #isWaiting: () => Promise<boolean>;

  constructor(client: pg.Client, isWaiting: () => Promise<boolean>) {
    this.client = client;
    this.query = queryOf(client);
    this.#isWaiting = isWaiting;
  }

  /** Without it, each statement is a transaction of its own. */
  async begin(): Promise<void> {
    await this.client.query("begin");
  }

  async end(how: "commit" | "rollback"): Promise<void> {
    await this.client.query(how);
  }

  fly<Answer>(act: (via: Query) => Promise<Answer>): Flight<Answer> {
    let outcome: { readonly answer: Answer } | undefined;
    const answered = act(this.query).then((answer) => {
      outcome = { answer };
    });
    return {
      progress: async () => {
        for (;;) {
          const isWaiting = this.#isWaiting();
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
    };
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  return client;
}
