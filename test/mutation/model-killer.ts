/**
 * The fastest killer: sequences of the model's commands, without a test runner, in a database that stays. A mutant is
 * one function replaced. Sequences that killed come first the next time, so most mutants live for a few milliseconds. The
 * few that are asked first are such as call the mutant's function.
 */
import fc from "fast-check";
import { Client, DatabaseError } from "pg";
import type { SqlFunction } from "../../src/postgres/sql-files.ts";
import { sequences } from "../model/commands.ts";
import { Player, playSql } from "../model/player.ts";
import type { Wish } from "../model/wishes.ts";
import { type FreshDatabase, freshDatabase } from "../postgres/fresh-database.ts";
import { type CountedAs, countedAs, mayCall } from "./reach.ts";
import { functionOf, type Mutant } from "./sql-mutants.ts";
import type { Verdict } from "./verdict.ts";

/** A statement is a few milliseconds; a mutant may loop for ever. */
const longestMs = 20_000;
const queryCanceled = "57014";
const seed = 20_261_120;
/** How many sequences are enough to kill nearly all that the model kills at all, if each calls the mutant's function. */
const few = 60;
/** How many sequences it looks at to find those few. Each takes some 50 ms, once. */
const mostMeasured = 240;

export class ModelKiller {
  readonly #database: FreshDatabase;
  readonly #client: Client;
  readonly #player: Player;
  readonly #countedAs: CountedAs;
  readonly #called = new Map<readonly Wish[], ReadonlySet<string>>();
  readonly #sample: readonly (readonly Wish[])[];
  #wishes: readonly (readonly Wish[])[];

  private constructor(database: FreshDatabase, client: Client, functions: readonly SqlFunction[], count: number) {
    this.#database = database;
    this.#client = client;
    this.#countedAs = countedAs(functions);
    this.#player = new Player(client, "m");
    this.#sample = fc.sample(sequences, { numRuns: count, seed });
    this.#wishes = this.#sample;
  }

  static async begin(serverUrl: string, functions: readonly SqlFunction[], count: number): Promise<ModelKiller> {
    const database = await freshDatabase(serverUrl);
    const client = new Client({ connectionString: database.url });
    client.on("error", () => {}); // the database is dropped under it in the end
    await client.connect();
    await client.query(playSql);
    await client.query(
      `set plan_cache_mode = force_generic_plan; set statement_timeout = ${longestMs}; set track_functions = 'all'`,
    );
    return new ModelKiller(database, client, functions, count);
  }

  async end(): Promise<void> {
    await this.#client.end();
    await this.#database.drop();
  }

  /** Answers the functions that a sequence calls, while nothing is changed. */
  async #callsOf(wishes: readonly Wish[]): Promise<ReadonlySet<string>> {
    let names: readonly string[] = [];
    await this.#player.play(wishes, {
      atEnd: async () => {
        const { rows } = await this.#client.query<{ funcname: string }>(
          "select funcname from pg_stat_xact_user_functions where schemaname = 'layover'",
        );
        names = rows.map(({ funcname }) => funcname);
      },
    });
    return new Set(names);
  }

  /** Answers the few sequences that call a function. Those that killed come first. */
  async #fewThatCall(name: string): Promise<readonly (readonly Wish[])[]> {
    const calls = (wishes: readonly Wish[]) => {
      const called = this.#called.get(wishes);
      return called !== undefined && mayCall(called, name, this.#countedAs);
    };
    for (const wishes of this.#sample.slice(this.#called.size, mostMeasured)) {
      if (this.#wishes.filter(calls).length >= few) break;
      this.#called.set(wishes, await this.#callsOf(wishes));
    }
    return this.#wishes.filter(calls).slice(0, few);
  }

  /** Plays against what is installed; the sequences must agree with it while nothing is changed. */
  async #playAll(sequences: readonly (readonly Wish[])[]): Promise<Verdict> {
    for (const wishes of sequences) {
      const said = await this.#play(wishes);
      if (said === undefined) continue;
      this.#wishes = [wishes, ...this.#wishes.filter((other) => other !== wishes)];
      return said;
    }
    return { kind: "survived" };
  }

  /** Tries the few sequences that kill most. */
  async tryFewOn(mutant: Mutant, original: string): Promise<Verdict> {
    return await this.#tryOn(mutant, original, await this.#fewThatCall(functionOf(mutant)));
  }

  tryAllOn(mutant: Mutant, original: string): Promise<Verdict> {
    return this.#tryOn(mutant, original, this.#wishes);
  }

  async #tryOn(mutant: Mutant, original: string, sequences: readonly (readonly Wish[])[]): Promise<Verdict> {
    try {
      await this.#install(mutant.mutated);
    } catch (error) {
      return { kind: "invalid", why: String(error) };
    }
    try {
      return await this.#playAll(sequences);
    } finally {
      await this.#install(original);
    }
  }

  /** Installs a function, but not `layover.now()`: the model has replaced that to turn the clock. */
  async #install(sql: string): Promise<void> {
    if (!sql.includes("function layover.now()")) await this.#client.query(sql);
  }

  async #play(wishes: readonly Wish[]): Promise<Verdict | undefined> {
    try {
      const { surprises, outcomes } = await this.#player.play(wishes);
      if (surprises.length === 0) return undefined;
      // What PL/pgSQL finds out only when it comes there: no type fits, no such column.
      const senseless = outcomes.find((outcome) => /: 42[0-9A-Z]{3}$/.test(outcome));
      if (senseless !== undefined) return { kind: "invalid", why: senseless };
      return { kind: "killed", why: surprises.join("; ") };
    } catch (error) {
      const isCut = error instanceof DatabaseError && error.code === queryCanceled;
      return { kind: isCut ? "hung" : "killed", why: String(error) };
    }
  }
}
