/** A database that the tests of a suite may share: it is emptied after each of them, and its sessions stay warm. */
import { encrypted } from "layover/encryption";
import { Client, type ClientBase, Pool } from "pg";
import type { Query } from "../../src/core/ports.ts";
import { pg } from "../../src/postgres/pg.ts";
import { type Clock, turnableClock, turnedBack } from "./clock.ts";
import { testKeys } from "./encryption/keys.ts";
import type { FreshDatabase } from "./fresh-database.ts";

/** `TEST_ENCRYPTED=1` has any test encrypt what it stores. */
const isEncrypted = process.env["TEST_ENCRYPTED"] !== undefined;

/** Makes a session like a new one, but for the plans of its statements. Answers its process id. */
async function madeNew(client: ClientBase): Promise<number> {
  await client.query("rollback; reset all; unlisten *; select pg_advisory_unlock_all()");
  const { rows } = await client.query("select pg_backend_pid() as pid");
  return rows[0]?.pid;
}

export class SharedDatabase {
  readonly #database: FreshDatabase;
  readonly pool: Pool;
  readonly query: Query;
  /** Whether a test before this one has turned the clock, and this one has not yet. */
  #isLeftTurned = false;
  #isTurned = false;
  #isUsedInRealTime = false;
  #lent: Client[] = [];
  #spare: Client[] = [];

  constructor(database: FreshDatabase) {
    this.#database = database;
    this.pool = new Pool({ connectionString: database.url });
    this.query = isEncrypted ? encrypted(pg(this.pool), testKeys) : pg(this.pool);
  }

  get url(): string {
    return this.#database.url;
  }

  /** Whether the suite may begin again in it, once it is empty: the clock stays turned, if a test has turned it. */
  get isFitForAnotherRound(): boolean {
    return !(this.#isTurned && this.#isUsedInRealTime);
  }

  /** Refuses a test in real time that follows one in which the clock was turned: for the one before, it stays turned. */
  checkClock(): void {
    if (this.#isLeftTurned)
      throw new Error("Another test of this suite has turned the clock: turn it first here too, or use `isOwn: true`.");
    if (!this.#isTurned) this.#isUsedInRealTime = true;
  }

  async turnClock(): Promise<Clock> {
    this.#isLeftTurned = false;
    const clock = this.#isTurned ? await turnedBack(this.query) : await turnableClock(this.query);
    this.#isTurned = true;
    return clock;
  }

  async session(): Promise<Client> {
    const client = this.#spare.pop() ?? (await this.#connect());
    this.#lent.push(client);
    return client;
  }

  /** Takes back the sessions that a test was lent, for the next one: those have planned layover's statements already. */
  async takeBack(): Promise<void> {
    if (this.#lent.length === 0 || (await this.#isAtWork())) return;
    for (const client of this.#lent.splice(0)) {
      try {
        await madeNew(client);
        this.#spare.push(client);
      } catch {
        void client.end().catch(() => {}); // a test has ended it, say
      }
    }
  }

  /** Answers whether nothing has happened in it now: otherwise it has to be dropped. */
  async empty(): Promise<boolean> {
    const { idleCount, totalCount } = this.pool;
    if (idleCount < totalCount || (await this.#isAtWork())) return false;
    const pooled = await Promise.all(Array.from({ length: totalCount || 1 }, () => this.pool.connect()));
    try {
      const clients = [...pooled, ...this.#lent, ...this.#spare];
      const pids = await Promise.all(clients.map(madeNew));
      const answer = await pooled[0]?.query("select layover_test.empty($1) as is_empty", [pids]);
      this.#spare.push(...this.#lent.splice(0));
      this.#isLeftTurned = this.#isTurned;
      return answer?.rows[0]?.is_empty === true;
    } catch {
      return false; // a test has ended one of its sessions, say
    } finally {
      for (const client of pooled) client.release();
    }
  }

  /** Whether a session still carries out a statement, or waits for a lock. */
  async #isAtWork(): Promise<boolean> {
    const { rows } = await this.pool.query(
      "select from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid()",
    );
    return rows.length > 0;
  }

  async drop(): Promise<void> {
    // A failed test may never give back a connection, and `end` would wait for it. Dropping the database cuts it off.
    void this.pool.end();
    for (const client of [...this.#lent, ...this.#spare]) void client.end().catch(() => {});
    await this.#database.drop();
  }

  async #connect(): Promise<Client> {
    const client = new Client({ connectionString: this.#database.url });
    client.on("error", () => {}); // the database is dropped under sessions that a failed test left at work
    await client.connect();
    return client;
  }
}
