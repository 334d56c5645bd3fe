/**
 * The way of the calls that nothing holds: one connection to the real Postgres, on which all that belongs to a call goes in one
 * packet. That is the clock as it stands, the call itself, and the look at the rows after it. So there is one wait for an answer
 * instead of three, and these waits took most of the time of a world.
 */
import { Socket } from "node:net";
import pg from "pg";
import type { Query } from "../../src/core/ports.ts";
import { type PgClient, pg as queryOf } from "../../src/postgres/pg.ts";
import { settingOfClock } from "../postgres/clock.ts";
import { unhurried } from "./sessions.ts";
import { type Snapshot, snapshotIn, snapshotting } from "./snapshot.ts";

export interface Line {
  /** Carries out a call that changes nothing that a look would show. */
  readonly query: Query;
  /** Carries out a call after which somebody looks: the look goes with it. */
  readonly changing: Query;
  /** Turns the clock to an instant in epoch milliseconds. Other connections see it once it has settled. */
  turnTo(at: number): void;
  /** Has the clock stand as it was turned, for all connections. */
  settle(): Promise<void>;
  /** Answers the rows as they are after all calls that were sent. */
  look(): Promise<Snapshot>;
  close(): Promise<void>;
}

export async function openLine(url: string): Promise<Line> {
  const stream = new Socket();
  const client = new pg.Client({ connectionString: url, pipeline: true, stream: () => stream });
  client.on("error", () => {});
  await client.connect();
  let turnedTo: number | undefined;
  let looking: Promise<Snapshot> | undefined;

  const setClock = (): Promise<unknown> | undefined => {
    if (turnedTo === undefined) return undefined;
    const values = [turnedTo];
    turnedTo = undefined;
    return client.query({ name: "clock", text: settingOfClock, values });
  };
  const look = async () => snapshotIn((await client.query<{ snapshot: Snapshot }>(snapshotting)).rows);
  const wayOf = (isChanging: boolean): Query => {
    const way: PgClient = {
      host: client.host,
      database: client.database,
      on: (event, listener) => client.on(event, listener),
      query: async (statement) => {
        stream.cork();
        const clock = setClock();
        const answer = client.query(statement);
        looking = isChanging ? look() : undefined;
        stream.uncork();
        // A look that fails and that nobody waits for must not end the process.
        looking?.catch(() => {});
        const [, rows] = await Promise.all([clock, answer]);
        return rows;
      },
    };
    return queryOf(way, unhurried);
  };

  return {
    query: wayOf(false),
    changing: wayOf(true),
    turnTo(at) {
      turnedTo = at;
    },
    settle: async () => void (await setClock()),
    look() {
      const taken = looking ?? look();
      looking = undefined;
      return taken;
    },
    close: () => client.end(),
  };
}
