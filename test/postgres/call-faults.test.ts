/**
 * What each call does about each failure of the database: how often it is sent, whether on the same connection, and that
 * nothing is counted or recorded twice. The failures are raised by Postgres itself, in place of the call's function.
 */
import { randomUUID } from "node:crypto";
import { Pool } from "pg";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { QueryError } from "../../src/core/ports.ts";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";
import { pg } from "../../src/postgres/pg.ts";
import { aHastyHost } from "../client/a-client.ts";
import { testDatabase } from "./database.ts";

interface Failure {
  readonly sqlState: string;
  readonly message?: string;
  readonly isSentAgain: boolean;
  /** Whether its connection is used for what comes next. */
  readonly keepsConnection: boolean;
}

const failures: readonly Failure[] = [
  { sqlState: "08006", isSentAgain: true, keepsConnection: false },
  { sqlState: "57P01", isSentAgain: true, keepsConnection: false },
  { sqlState: "57P03", isSentAgain: true, keepsConnection: false },
  { sqlState: "53300", isSentAgain: true, keepsConnection: true },
  { sqlState: "53100", isSentAgain: false, keepsConnection: true },
  { sqlState: "40001", isSentAgain: true, keepsConnection: true },
  { sqlState: "40P01", isSentAgain: true, keepsConnection: true },
  { sqlState: "25006", isSentAgain: true, keepsConnection: false },
  { sqlState: "26000", isSentAgain: true, keepsConnection: true },
  { sqlState: "42P05", isSentAgain: true, keepsConnection: true },
  { sqlState: "28P01", isSentAgain: false, keepsConnection: false },
  { sqlState: "3D000", isSentAgain: false, keepsConnection: false },
  { sqlState: "42501", isSentAgain: false, keepsConnection: true },
  { sqlState: "XX000", isSentAgain: false, keepsConnection: true },
  {
    sqlState: "0A000",
    message: "cached plan must not change result type",
    isSentAgain: true,
    keepsConnection: false,
  },
  { sqlState: "LO001", isSentAgain: false, keepsConnection: true },
  { sqlState: "LO002", isSentAgain: true, keepsConnection: true },
];

interface Arranged {
  readonly calls: Calls;
  readonly runId: string;
  readonly token: string;
}

const terms = { environment: "test", versions: { flow: [1] }, leaseMs: 60_000, maxClaims: 50, maxBeginnings: 5 };

async function claim({ calls, runId, token }: Arranged): Promise<unknown> {
  return await calls.claimTurns({
    ...terms,
    endpoint: calls.endpoint,
    turns: [{ runId, turn: 1, token, alone: true }],
  });
}

interface Kind {
  readonly sqlFunction: string;
  /** Whether the run is at work before. */
  readonly isClaimed: boolean;
  make(arranged: Arranged): Promise<unknown>;
}

const finish: Kind = {
  sqlFunction: "finish_turns",
  isClaimed: true,
  make: async ({ calls, runId, token }) => {
    const at = await calls.now();
    const record = { kind: "step", path: "charge", occurrence: 0, value: "0true", at } as const;
    const next = { next: "completed", value: "0true", records: [record] } as const;
    return await calls.finishTurns([{ runId, token, position: 0, ...next }], []);
  },
};

const kinds: Readonly<Record<string, Kind>> = {
  "a claim": { sqlFunction: "claim_turns", isClaimed: false, make: claim },
  "a finish": finish,
  "a renewal": {
    sqlFunction: "renew_leases",
    isClaimed: true,
    make: async ({ calls, runId, token }) =>
      await calls.renewLeases({ leaseMs: 60_000, turns: [{ runId, token, beginnings: 1 }] }),
  },
  "a tick's look at what is due": {
    sqlFunction: "list_due",
    isClaimed: false,
    make: async ({ calls }) => await calls.listDue({ versions: terms.versions, limit: 10 }),
  },
  "a tick's move of what is due": {
    sqlFunction: "move_due",
    isClaimed: false,
    make: async ({ calls, runId }) => {
      const seenDueAt = await dueAt(runId);
      const dueLater = (seenDueAt ?? 0) + 60_000;
      const move = { runId, seenDueAt, dueAt: dueLater, isDispatched: true, branches: [] };
      return await calls.moveDue({ moves: [move] });
    },
  },
  "a list": {
    sqlFunction: "list_runs",
    isClaimed: false,
    make: async ({ calls }) => await calls.listRuns({ limit: 10, walk: 1_000 }),
  },
};

const database = testDatabase();

async function dueAt(runId: string): Promise<number | null> {
  const text = "select layover.to_ms(due_at) as due_at from layover.run_state where run_id = $1";
  const { rows } = await database.pool.query(text, [runId]);
  return rows[0]?.due_at === null ? null : Number(rows[0]?.due_at);
}

/** All that may be counted of a run. */
async function countsOf(runId: string): Promise<unknown> {
  const text = `select s.status, s.turn, s.claims, s.beginnings, s.dispatches, s.last_position, s.leased_until is not null as is_leased,
      (select count(*)::int from layover.record r where r.run_id = s.run_id) as records,
      (select count(*)::int from layover.attempt a where a.run_id = s.run_id) as attempts
    from layover.run_state s where s.run_id = $1`;
  return (await database.pool.query(text, [runId])).rows;
}

beforeAll(async () => {
  await database.pool.query(`
    create sequence arrivals;
    create table fault (sql_function text, sql_state text, message text, times integer)`);
  for (const { sqlFunction } of Object.values(kinds)) {
    await database.pool.query(`
      alter function layover.${sqlFunction}(jsonb) rename to undisturbed_${sqlFunction};
      create function layover.${sqlFunction}(p jsonb) returns json language plpgsql volatile as $$
      declare v_fault public.fault := (select f from public.fault f where f.sql_function = '${sqlFunction}');
      begin
        if v_fault.sql_function is not null and nextval('public.arrivals') <= v_fault.times then
          raise exception using errcode = v_fault.sql_state, message = v_fault.message;
        end if;
        return layover.undisturbed_${sqlFunction}(p);
      end $$`);
  }
});

/** Makes the next calls fail. Answers how many have arrived since. */
async function fail(
  sqlFunction: string,
  { sqlState, message }: Pick<Failure, "sqlState" | "message">,
  times: number,
): Promise<() => Promise<number>> {
  await database.pool.query("truncate fault; alter sequence arrivals restart");
  const row = [sqlFunction, sqlState, message ?? "it failed", times];
  await database.pool.query("insert into fault values ($1, $2, $3, $4)", row);
  return async () => {
    const { rows } = await database.pool.query("select last_value::int as last, is_called from arrivals");
    return rows[0]?.is_called ? rows[0].last : 0;
  };
}

/** Begins a run, which is at work if the call needs that. */
async function arrangeFor({ isClaimed }: Kind): Promise<Arranged & { readonly pool: Pool; pid(): Promise<number> }> {
  await database.pool.query("truncate fault");
  const pool = new Pool({ connectionString: database.url, max: 1 });
  onTestFinished(() => pool.end());
  const query = pg(pool);
  const pid = async () => Number((await query("select pg_backend_pid() as pid"))[0]?.["pid"]);
  const calls = makeCalls({ query, namespace: "test", alarm: async () => {}, host: aHastyHost() });
  const arranged = { calls, runId: randomUUID(), token: randomUUID(), pool, pid };
  await calls.startRun({ runId: arranged.runId, workflow: "flow", version: 1, encodedInput: "01" });
  if (isClaimed) await claim(arranged);
  return arranged;
}

describe.each(Object.entries(kinds))("%s", (_, kind) => {
  const arrange = () => arrangeFor(kind);

  async function undisturbed(): Promise<unknown> {
    const arranged = await arrange();
    await kind.make(arranged);
    return await countsOf(arranged.runId);
  }

  test.each(failures)(
    "after $sqlState is sent again: $isSentAgain; same connection: $keepsConnection",
    async (failure) => {
      const expected = await undisturbed();
      const arranged = await arrange();
      const [before, counts] = [await arranged.pid(), await countsOf(arranged.runId)];
      const arrivals = await fail(kind.sqlFunction, failure, 1);
      const made = kind.make(arranged);
      if (failure.isSentAgain) await made;
      else {
        await expect(made).rejects.toMatchObject({ sqlState: failure.sqlState });
        await expect(made).rejects.toBeInstanceOf(QueryError);
      }
      expect(await arrivals()).toBe(failure.isSentAgain ? 2 : 1);
      expect(await countsOf(arranged.runId)).toEqual(failure.isSentAgain ? expected : counts);
      expect((await arranged.pid()) === before).toBe(failure.keepsConnection);
    },
  );

  test("is given up after five times, or three where it comes too late each time", async () => {
    for (const [sqlState, times] of [
      ["08006", 5],
      ["40001", 5],
      ["25006", 5],
      ["LO002", 3],
    ] as const) {
      const arranged = await arrange();
      const failure = { sqlState, isSentAgain: true, keepsConnection: true };
      const arrivals = await fail(kind.sqlFunction, failure, 100);
      await expect(kind.make(arranged)).rejects.toMatchObject({ sqlState });
      expect(await arrivals()).toBe(times);
    }
  });
});

test("a call whose arming took long is not sent again once its limit is over", async () => {
  const arranged = await arrangeFor(finish);
  const host = aHastyHost();
  const alarm = () => new Promise<void>((resolve) => void host.after(19_000, resolve));
  const calls = makeCalls({ query: pg(arranged.pool), namespace: "test", alarm, host });
  const arrivals = await fail(finish.sqlFunction, { sqlState: "08006" }, 100);
  await expect(finish.make({ ...arranged, calls })).rejects.toMatchObject({ sqlState: "08006" });
  expect(host.pauses).toEqual([19_000, 50, 200]); // 800 ms later the 20 s of the call would be over
  expect(await arrivals()).toBe(3);
});
