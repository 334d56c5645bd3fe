/** What a prune reads of runs that are kept: each run once, and then none of them again. */
import { expect, test } from "vitest";
import { stageOn } from "../races/stage.ts";
import { describeSomePostgres } from "./database.ts";

const day = 86_400_000;
const many = 100_000;

describeSomePostgres(
  "a prune among 100,000 failed runs that are kept",
  (database) => {
    const stage = stageOn(database);

    /** Runs that failed 40 to 60 days ago. Every tenth is of a workflow of its own. */
    async function someFailedRuns(): Promise<void> {
      const slice = 10_000;
      for (let from = 1; from < many; from += slice) {
        await stage.onlooker.query(`
          with made as (select gen_random_uuid() as id, n from generate_series(${from}, ${from + slice - 1}) as n),
          run as (
            insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
            select id, 'default', case when n % 10 = 0 then 'other' else 'flow' end, 1, '0null', true, layover.now() from made)
          insert into layover.run_state (run_id, namespace, status, error, last_record_at, ended_at)
          select id, 'default', 'failed', '0null', layover.now(),
              layover.now() - interval '40 days' - n * interval '17 seconds' from made`);
      }
    }

    /** Prunes once, and answers how many rows of the table were read for it. */
    async function prune(more: object) {
      const session = await stage.session(`pruner ${Math.random()}`);
      await session.begin();
      const call = { keepMs: 30 * day, keepFailedMs: 90 * day, limit: 500, ...more };
      const answer = await session.call("prune_runs", call);
      const [row] = await session.query(`
        select pg_stat_get_xact_tuples_returned(c.oid) as scanned, pg_stat_get_xact_tuples_fetched(c.oid) as fetched
          from pg_class c where c.oid = 'layover.run_state'::regclass`);
      await session.commit();
      await session.close();
      return { ...answer, scanned: Number(row?.["scanned"]), fetched: Number(row?.["fetched"]) };
    }

    test("reads a bounded part at a time, and nothing of it again", { timeout: 240_000 }, async () => {
      await someFailedRuns();
      const pages = [];
      do pages.push(await prune({}));
      while (pages.at(-1)?.isMore);
      expect(pages.map(({ pruned }) => pruned)).toEqual(pages.map(() => 0));
      expect(pages.map(({ scanned }) => scanned)).toEqual(pages.map(() => 0)); // never the whole table
      expect(Math.max(...pages.map(({ fetched }) => fetched))).toBeLessThan(11_000);
      expect(pages.length).toBeLessThan(2 + many / 5_000);
      expect(await prune({})).toEqual({ pruned: 0, isMore: false, scanned: 0, fetched: expect.any(Number) });
      expect((await prune({})).fetched).toBeLessThan(10);

      const rule = { retention: { other: { failed: 50 * day } } };
      let pruned = 0;
      for (let isMore = true; isMore; ) {
        const page = await prune(rule);
        expect([page.scanned, page.fetched < 40_000]).toEqual([0, true]);
        pruned += page.pruned;
        isMore = page.isMore;
      }
      expect(pruned).toBe(many / 10 - Math.floor((10 * 86_400) / 170));
      expect((await prune(rule)).fetched).toBeLessThan(30);
    });
  },
  { perTest: true },
);
