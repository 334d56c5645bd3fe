/**
 * Reads from the server, not from the client, what a piece of work cost it.
 *
 * - Statements: calls of top-level statements in the contender's database, from pg_stat_statements. It
 *   counts inside the executor, so neither batching, pipelining nor a long transaction hides one, while
 *   pg_stat_database.xact_commit would see a transaction of ten as one. It leaves out statements that
 *   fail; a contender rejects when one does.
 * - WAL: how far the insert position moved. Also background work is in it (a snapshot record every 15 s,
 *   autovacuum). A checkpoint precedes each measured section and none falls into it, so the first change
 *   of each page carries a full-page image: for 20,000 steps on 2,000 runs, 12 B a step of the bound.
 * - CPU of Postgres: of all its processes, from /proc; left out where there is none.
 */

import { Client } from "pg";
import type { Figures } from "./figures.ts";
import { readPostgresCpu } from "./postgres-cpu.ts";

/** The settings that the meter needs, beside those that make figures comparable. */
export const POSTGRES_SETTINGS: Readonly<Record<string, string>> = {
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track": "top",
  "pg_stat_statements.save": "off",
  "pg_stat_statements.max": "50000", // each database of a contender adds the statements of its migrations
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  autovacuum: "on",
  shared_buffers: "256MB",
  max_wal_size: "4GB",
  min_wal_size: "1GB", // segments are reused, so that nobody's section pays for filling new ones with zeros
  checkpoint_timeout: "1h",
  max_connections: "100",
};

interface Reading {
  readonly statements: number;
  readonly walBytes: number;
  readonly postgresCpuMicros: number | undefined;
  readonly nodeCpuMicros: number;
  readonly atMs: number;
}

export class Meter {
  readonly #admin: Client;
  readonly #url: string;
  readonly #postmaster: number;

  private constructor(admin: Client, url: string, postmaster: number) {
    this.#admin = admin;
    this.#url = url;
    this.#postmaster = postmaster;
  }

  /** Connects to a server that runs on this machine, as a superuser, to any of its databases. */
  static async attach({ url, pid }: { readonly url: string; readonly pid: number }): Promise<Meter> {
    const admin = new Client(url);
    admin.on("error", () => {}); // pg crashes the process otherwise when the server stops
    await admin.connect();
    await admin.query("create extension if not exists pg_stat_statements");
    return new Meter(admin, url, pid);
  }

  async detach(): Promise<void> {
    await this.#admin.end();
  }

  get admin(): Client {
    return this.#admin;
  }

  async createDatabase(name: string): Promise<string> {
    await this.#admin.query(`drop database if exists ${name} with (force)`);
    await this.#admin.query(`create database ${name}`);
    return this.#urlOf(name);
  }

  async dropDatabase(name: string): Promise<void> {
    await this.#admin.query(`drop database ${name} with (force)`);
  }

  /**
   * Leaves nothing over from the work before: no dead rows, no stale statistics, no checkpoint due, so
   * that neither autovacuum nor the checkpointer settles one contender's debts in the other's time.
   */
  async tidy(database: string): Promise<void> {
    const client = new Client(this.#urlOf(database));
    await client.connect();
    await client.query("vacuum (analyze)");
    await client.end();
  }

  /** Carries out the work and answers what it cost per step. */
  async measure(database: string, steps: number, work: () => Promise<void>): Promise<Figures> {
    await this.#admin.query("checkpoint");
    const before = await this.#read(database);
    await work();
    const atMs = performance.now();
    const after = await this.#read(database);

    const elapsedMs = atMs - before.atMs;
    return {
      stepsPerSecond: (steps / elapsedMs) * 1000,
      statementsPerStep: (after.statements - before.statements) / steps,
      walBytesPerStep: (after.walBytes - before.walBytes) / steps,
      nodeCpuMicrosPerStep: (after.nodeCpuMicros - before.nodeCpuMicros) / steps,
      ...(before.postgresCpuMicros !== undefined &&
        after.postgresCpuMicros !== undefined && {
          postgresCpuMicrosPerStep: (after.postgresCpuMicros - before.postgresCpuMicros) / steps,
        }),
    };
  }

  async #read(database: string): Promise<Reading> {
    const { rows } = await this.#admin.query<{ statements: string; wal_bytes: string; forgotten: string }>(
      `select
         (
           select coalesce(sum(calls), 0)
           from pg_stat_statements(false) where toplevel and dbid = d.oid
         ) as statements,
         pg_current_wal_insert_lsn() - '0/0' as wal_bytes,
         (select dealloc from pg_stat_statements_info) as forgotten
       from pg_database d where datname = $1`,
      [database],
    );
    const row = rows[0];
    if (row === undefined) throw new Error(`There is no database "${database}".`);
    if (Number(row.forgotten) > 0) throw new Error("pg_stat_statements ran full, so statements cannot be counted.");
    const postgresCpuMicros = await readPostgresCpu(this.#postmaster);
    const node = process.cpuUsage();
    return {
      statements: Number(row.statements),
      walBytes: Number(row.wal_bytes),
      postgresCpuMicros,
      nodeCpuMicros: node.user + node.system,
      atMs: performance.now(),
    };
  }

  #urlOf(database: string): string {
    const url = new URL(this.#url);
    url.pathname = `/${database}`;
    return url.href;
  }
}
