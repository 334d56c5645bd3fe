/**
 * The fastest killer: sequences of the model's commands, without a test runner, in a database that stays. A mutant is
 * one function replaced. Sequences that killed come first the next time, so most mutants live for a few milliseconds.
 */
import fc from "fast-check";
import { Client, DatabaseError } from "pg";
import { sequences } from "../model/commands.ts";
import { Player, playSql } from "../model/player.ts";
import type { Wish } from "../model/wishes.ts";
import { type FreshDatabase, freshDatabase } from "../postgres/fresh-database.ts";
import type { Verdict } from "./verdict.ts";

/** A statement is a few milliseconds; a mutant may loop for ever. */
const longestMs = 20_000;
const queryCanceled = "57014";
const seed = 20_261_120;
/** How many sequences are enough to kill nearly all that the model kills at all. */
const few = 80;

export class ModelKiller {
  readonly #database: FreshDatabase;
  readonly #client: Client;
  readonly #player: Player;
  #wishes: (readonly Wish[])[];

  private constructor(database: FreshDatabase, client: Client, count: number) {
    this.#database = database;
    this.#client = client;
    this.#player = new Player(client, "m");
    this.#wishes = fc.sample(sequences, { numRuns: count, seed });
  }

  static async begin(serverUrl: string, count: number): Promise<ModelKiller> {
    const database = await freshDatabase(serverUrl);
    const client = new Client({ connectionString: database.url });
    client.on("error", () => {}); // the database is dropped under it in the end
    await client.connect();
    await client.query(playSql);
    await client.query(`set plan_cache_mode = force_generic_plan; set statement_timeout = ${longestMs}`);
    return new ModelKiller(database, client, count);
  }

  async end(): Promise<void> {
    await this.#client.end();
    await this.#database.drop();
  }

  /** Plays against what is installed; the sequences must agree with it while nothing is changed. */
  async #playMost(most: number): Promise<Verdict> {
    for (const [place, wishes] of this.#wishes.slice(0, most).entries()) {
      const said = await this.#play(wishes);
      if (said === undefined) continue;
      this.#wishes = [wishes, ...this.#wishes.filter((_, index) => index !== place)];
      return said;
    }
    return { kind: "survived" };
  }

  /** Tries the few sequences that kill most. */
  tryFewOn(mutated: string, original: string): Promise<Verdict> {
    return this.#tryOn(mutated, original, few);
  }

  tryAllOn(mutated: string, original: string): Promise<Verdict> {
    return this.#tryOn(mutated, original, this.#wishes.length);
  }

  async #tryOn(mutated: string, original: string, most: number): Promise<Verdict> {
    try {
      await this.#install(mutated);
    } catch (error) {
      return { kind: "invalid", why: String(error) };
    }
    try {
      return await this.#playMost(most);
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
