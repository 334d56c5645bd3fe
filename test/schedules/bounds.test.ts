/** How much work a call is at most: Postgres itself counts the calls of functions. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { describeEachPostgres, type TestDatabase } from "../postgres/database.ts";
import { patterns } from "./patterns.ts";

interface Counted {
  readonly answer: unknown;
  /** Calls by the name of the function. */
  readonly calls: ReadonlyMap<string, number>;
}

/** Sends one statement that answers one value. */
async function counted({ pool }: TestDatabase, statement: string, values: readonly unknown[]): Promise<Counted> {
  const client = await pool.connect();
  const count = async () => {
    const { rows } = await client.query("select funcname, calls::integer from pg_stat_xact_user_functions");
    return new Map<string, number>(rows.map(({ funcname, calls }) => [funcname, calls]));
  };
  try {
    await client.query("begin; set local track_functions = 'all'");
    const before = await count(); // counts of earlier transactions may still be there; within one, none goes
    const { rows } = await client.query({ text: statement, values: [...values], rowMode: "array" });
    const after = [...(await count())].map(([name, calls]) => [name, calls - (before.get(name) ?? 0)] as const);
    await client.query("rollback");
    return { answer: rows[0]?.[0], calls: new Map(after) };
  } finally {
    client.release();
  }
}

describeEachPostgres("the calendar of schedules", (database) => {
  test.each([
    ["a year of missed minutes", "* * * * *", "2025-01-01", "2026-01-01T00:00Z"],
    ["the minutes of a February that is long ago", "* * * 2 *", "2025-02-01", "2025-02-28T22:59Z"],
  ])("finds the last of %s in a few looks", async (_, cron, first, last) => {
    const { answer, calls } = await counted(
      database,
      "select layover.last_instant('name', $1, $2::timestamptz, '2026-01-01 00:00:30Z')",
      [{ cron, timezone: "Europe/Berlin" }, first],
    );
    expect(answer).toEqual(new Date(last));
    expect(calls.get("next_firing")).toBeLessThan(60);
  });

  test.each([
    ["a pattern that never fires", "0 0 31 2 *", "Europe/Berlin"],
    ["a day that comes after 28 years", "0 0 29 2 */7", "Africa/Casablanca"],
    ["a day of some years", "0 0 29 2 *", "Africa/Casablanca"],
  ])("takes a few looks for %s", async (_, cron, timezone) => {
    const { calls } = await counted(database, "select layover.next_firing($1, $2, '2032-03-01')", [cron, timezone]);
    expect(calls.get("next_wall_time")).toBe(1);
    expect(calls.get("find_clock_change") ?? 0).toBeLessThan(5);
  });

  test("takes a few looks for any pattern, also around a change of the clocks", async () => {
    for (const { text } of fc.sample(patterns, 50)) {
      for (const after of ["2026-03-28 23:30Z", "2026-10-25 00:30Z", "2026-07-01Z"]) {
        const asked = [text, "Europe/Berlin", after];
        const { calls } = await counted(database, "select layover.next_firing($1, $2, $3)", asked);
        expect(calls.get("next_wall_time"), asked.join()).toBeLessThan(4);
        expect(calls.get("find_clock_change") ?? 0, asked.join()).toBeLessThan(8);
      }
    }
  });
});
