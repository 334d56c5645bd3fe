import { expect, test } from "vitest";
import { describeEachPostgres } from "./database.ts";

describeEachPostgres(
  "the clock",
  (database) => {
    const databaseTime = async () => {
      const [row] = await database.query("select (extract(epoch from layover.now()) * 1000)::float8 as ms");
      return row?.["ms"];
    };

    test("is the real one until a test turns it, in whole milliseconds", async () => {
      const before = Date.now();
      const now = Number(await databaseTime());
      expect(now).toBeGreaterThanOrEqual(before - 1);
      expect(now).toBeLessThanOrEqual(Date.now() + 1);
      expect(now % 1).toBe(0);
    });

    test("is told with how far the database was migrated, with what breaks, and the release of its functions once they are whole", async () => {
      const read = async () => (await database.pool.query("select layover.read_clock() as told")).rows[0]?.told;
      const [last] = (await database.pool.query("select max(number) as number from layover.migration")).rows;
      await database.pool.query("update layover.migration set is_breaking = number in (2, 3)");
      const told = await read();
      expect(told).toMatchObject({ migration: last?.number, breaking: 3, functions: expect.any(String) });
      await database.pool.query("update layover.function_set set checksum = ''");
      expect(await read()).toMatchObject({ functions: null });
    });

    test("stands still at noon until it is turned", async () => {
      const clock = await database.turnClock();
      expect(await databaseTime()).toBe(Date.UTC(2026, 0, 1, 12));
      expect(await clock.now()).toBe(Date.UTC(2026, 0, 1, 12));
    });

    test("goes where it is turned, to the millisecond, also ten years on", async () => {
      const clock = await database.turnClock();
      await clock.set(new Date("2027-02-03T04:05:06.789Z"));
      expect(await databaseTime()).toBe(Date.UTC(2027, 1, 3, 4, 5, 6, 789));
      expect(await clock.advance(3_653 * 86_400_000 + 1)).toBe(await databaseTime());
      await clock.set(1_001);
      expect(await databaseTime()).toBe(1_001);
    });

    test("is seen to move within a function that waits for a lock", async () => {
      const clock = await database.turnClock();
      await database.pool.query(`
        create table door (is_open boolean); insert into door values (false);
        create function pass() returns float8[] language plpgsql as $$ declare before timestamptz := layover.now(); begin
          perform from door for update;
          return array[extract(epoch from before), extract(epoch from layover.now())];
        end $$`);
      const holder = await database.pool.connect();
      await holder.query("begin; select from door for update");
      const passed = database.pool.query("select pass()");
      await expect.poll(async () => await isSomebodyWaiting()).toBe(true);
      await clock.advance(60_000);
      await holder.query("commit");
      holder.release();
      const [before, after] = (await passed).rows[0]?.pass ?? [];
      expect(after - before).toBe(60);
    });

    async function isSomebodyWaiting(): Promise<boolean> {
      const { rows } = await database.pool.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return rows.length > 0;
    }
  },
  { perTest: true },
);
