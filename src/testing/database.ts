/**
 * One PGlite for all test engines of a process, migrated once and prepared (database-image.ts). Each engine is a
 * namespace of its own. PGlite carries out one statement at a time, so the clock need not be a row that all share. It
 * is a setting of the session, and each statement first sets it to the time of its engine.
 */
import type { Parameter, Row } from "../core/ports.ts";
import { type PgliteDatabase, pglite } from "../postgres/pglite.ts";
import { openPrepared } from "./database-image.ts";

const turnable = `create or replace function layover.now() returns timestamptz language sql volatile as $$
  select timestamptz 'epoch' + current_setting('layover_test.now')::float8 * interval '1 millisecond' $$`;

/** Postgres alone in a process never does it by itself, and its log would grow in memory (see embedded.ts). */
const statementsPerCheckpoint = 5_000;

export interface Statement {
  readonly text: string;
  readonly parameters: readonly Parameter[] | undefined;
  /** What time it is for this statement, in epoch milliseconds. */
  readonly now: number;
  /** Asked when its turn has come: whoever sent it may have died by then. */
  readonly isWanted: () => boolean;
}

export class TestDatabase {
  readonly #query: ReturnType<typeof pglite>;
  #last: Promise<unknown> = Promise.resolve();
  #now: number | undefined;
  #statements = 0;

  constructor(database: PgliteDatabase) {
    this.#query = pglite(database);
  }

  get endpoint(): string {
    return this.#query.endpoint;
  }

  /** Carries out one statement after the other; one that nobody wants any more answers nothing. */
  send(statement: Statement): Promise<readonly Row[]> {
    const answer = this.#last.then(() => this.#carryOut(statement));
    this.#last = answer.catch(() => {});
    return answer;
  }

  async #carryOut({ text, parameters, now, isWanted }: Statement): Promise<readonly Row[]> {
    if (!isWanted()) return [];
    this.#statements += 1;
    if (this.#statements % statementsPerCheckpoint === 0) await this.#query("checkpoint");
    if (now !== this.#now) {
      await this.#query("select set_config('layover_test.now', $1, false)", [now]);
      this.#now = now;
    }
    return await this.#query(text, parameters);
  }
}

let opened: Promise<TestDatabase> | undefined;

/** The one of this process. @throws SetupError `package_missing` */
export function openTestDatabase(): Promise<TestDatabase> {
  opened ??= open();
  return opened;
}

async function open(): Promise<TestDatabase> {
  try {
    const database = await openPrepared();
    await database.exec(turnable);
    return new TestDatabase(database);
  } catch (error) {
    opened = undefined;
    throw error;
  }
}
