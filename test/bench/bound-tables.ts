/** The tables of the engines written by hand, and what these engines do alike: start runs and close. */

import { Pool } from "pg";
import { v7 as ascendingId } from "uuid";
import type { Database } from "./contender.ts";

const TABLES = `
  create schema bound;
  create table bound.run (
    id uuid primary key,
    steps integer not null,
    turn integer not null default 0,
    token uuid,
    leased_until timestamptz,
    is_over boolean not null default false
  ) with (fillfactor = 50);
  create table bound.step (
    run_id uuid not null,
    position integer not null,
    name text not null,
    result json not null,
    ended_at timestamptz not null,
    primary key (run_id, position)
  );`;

const START = {
  name: "start",
  text: "insert into bound.run (id, steps) select unnest($1::uuid[]), $2",
};

export class BoundTables {
  readonly pool: Pool;
  readonly connections: number;

  constructor({ url, connections }: Database) {
    this.pool = new Pool({ connectionString: url, max: connections, idleTimeoutMillis: 0 });
    this.pool.on("error", () => {}); // pg crashes the process otherwise when the server stops
    this.connections = connections;
  }

  async make(): Promise<void> {
    await this.pool.query(TABLES);
  }

  async start({ runs, steps }: { runs: number; steps: number }): Promise<readonly string[]> {
    const ids = Array.from({ length: runs }, () => ascendingId());
    await this.pool.query({ ...START, values: [ids, steps] });
    return ids;
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}
