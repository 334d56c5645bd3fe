/**
 * What a Postgres was asked, by its own log: with `log_statement = 'all'` it writes down each statement before it carries
 * it out, whoever sent it. The log is written by a process of its own, so a place in it is marked by a statement of ours:
 * once that can be read, so can everything before it.
 */
import { chmodSync, chownSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { unprivileged } from "../postgres/binaries.ts";

export class StatementLog {
  readonly #folder: string;
  #client: Client | undefined;

  /** `folder` is made, for Postgres to write into. */
  constructor(folder: string) {
    const { uid, gid } = unprivileged();
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o700);
    if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
    this.#folder = folder;
  }

  /** What the server is to be started with. */
  get settings(): Readonly<Record<string, string>> {
    return {
      logging_collector: "on",
      log_directory: this.#folder,
      log_filename: "statements.log",
      log_rotation_age: "0",
      log_rotation_size: "0",
      log_statement: "all",
      log_line_prefix: "%m %d ",
    };
  }

  /** The connection stays open: an idle one is nothing to a database that would sleep. */
  async connect(databaseUrl: string): Promise<void> {
    const client = new Client({ connectionString: databaseUrl });
    client.on("error", () => {}); // the server ends before it
    await client.connect();
    this.#client = client;
  }

  /** Resolves when this can be read in the log. */
  async mark(sentence: string): Promise<void> {
    await this.#client?.query(`select '${sentence}'`);
    const givenUpAt = Date.now() + 10_000;
    while (!this.#text.includes(statementOf(sentence))) {
      if (Date.now() > givenUpAt) throw new Error(`Postgres has not logged ${sentence} within 10 s`);
      await delay(10);
    }
  }

  /** What it has written after one mark, and before the other one if that is given. */
  between(from: string, to?: string): string {
    return this.#text.slice(this.#lineOf(from).end, to === undefined ? undefined : this.#lineOf(to).start);
  }

  /** ... and the marks themselves. */
  excerpt(from: string, to: string): string {
    return this.#text.slice(this.#lineOf(from).start, this.#lineOf(to).end);
  }

  async end(): Promise<void> {
    await this.#client?.end();
  }

  #lineOf(mark: string): { readonly start: number; readonly end: number } {
    const text = this.#text;
    const at = text.indexOf(statementOf(mark));
    if (at < 0) throw new Error(`the log has no mark ${mark}`);
    return { start: text.lastIndexOf("\n", at) + 1, end: at + statementOf(mark).length };
  }

  get #text(): string {
    return readFileSync(join(this.#folder, "statements.log"), "utf8");
  }
}

function statementOf(mark: string): string {
  return `select '${mark}'\n`;
}

/**
 * What clients have sent. One that fails when it is read is logged as an error only, and one that fails later as both: so
 * a failure counts for itself.
 */
export function statementsIn(text: string): readonly string[] {
  const entry = /^\S+ \S+ \S+ \S* *(?:LOG: {2}(?:statement|execute [^:]*|fastpath function call)|ERROR|FATAL): +/;
  return text.split("\n").flatMap((line) => {
    const [match] = entry.exec(line) ?? [];
    return match === undefined ? [] : [line.slice(match.length)];
  });
}
