/** Pages of runs: newest first, each run once, of one namespace, and only those that were asked for. */
import { describe, expect, test } from "vitest";
import type { ListCall } from "../../src/postgres/wire-views.ts";
import { aStart } from "../races/runs.ts";
import { stageOn } from "../races/stage.ts";
import { describeEachPostgres } from "./database.ts";

/** As they were made, one after the other. */
const idOf = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;

describeEachPostgres(
  "a list of runs",
  (database) => {
    const stage = stageOn(database);
    const list = async (call: Partial<ListCall> & { readonly namespace?: string } = {}) => {
      const { runs } = await stage.onlooker.call("list_runs", { limit: 10, ...call });
      return runs.map(({ runId }) => Number(runId.at(-1)));
    };
    const start = (n: number, more: object) => stage.onlooker.call("start_run", { ...aStart(idOf(n)), ...more });
    const red = { colour: "red", edge: "red" };

    /** Asks for one run after the other, each page from behind the one ahead. */
    async function pagesOf(call: Partial<ListCall>): Promise<readonly number[]> {
      const pages: number[] = [];
      for (let last: number | undefined = 9; last !== undefined; last = pages.at(-1)) {
        const page = await list({ ...call, limit: 1, before: idOf(last) });
        expect(page.length).toBeLessThanOrEqual(1);
        expect(pages.length).toBeLessThan(9); // or it would go on for ever
        if (page.length === 0) break;
        pages.push(...page);
      }
      return pages;
    }

    async function someRuns(): Promise<void> {
      await start(3, { tags: red });
      await start(1, { tags: red });
      await start(2, { tags: { colour: "blue", edge: "red" } });
      await start(4, { tags: red, workflow: "other" });
      await start(5, {});
      await start(6, { tags: red, namespace: "elsewhere" });
      await start(7, { namespace: "elsewhere" });
    }

    describe.each([
      ["all", {}, [5, 4, 3, 2, 1]],
      ["those of a workflow", { workflow: "flow" }, [5, 3, 2, 1]],
      ["those with a tag", { tags: { edge: "red" } }, [4, 3, 2, 1]],
      ["those with several tags", { tags: red }, [4, 3, 1]],
      ["those of a workflow with several tags", { workflow: "flow", tags: red }, [3, 1]],
      ["those of a status with a tag", { status: "queued", tags: { edge: "red" } }, [4, 3, 2, 1]],
    ])("of %s", (_, call, found) => {
      test("tells how many there are, up to a limit, and shows none of them", async () => {
        await someRuns();
        const count = async (limit: number): Promise<object> =>
          await stage.onlooker.call("list_runs", { ...call, isCount: true, limit });
        expect(await count(9)).toEqual({ count: found.length, next: null });
        expect(await count(1)).toMatchObject({ count: 1 });
      });

      test("has each of them once, newest first", async () => {
        await someRuns();
        expect(await list(call)).toEqual(found);
      });

      test("goes on behind the last one of the page ahead", async () => {
        await someRuns();
        expect(await pagesOf(call)).toEqual(found);
      });

      test("has none that was asked for as something else", async () => {
        await someRuns();
        expect(await list({ ...call, status: "completed" })).toEqual([]);
      });
    });

    const over = "ended_at = layover.now(), ready_at = null, due_at = null";

    describe.each([
      ["blocked", [3, 1], "blocked = '0no'"],
      ["failed", [4, 2], `status = 'failed', error = '0no', ${over}`],
      ["queued", [6, 5], "turn = 1"],
      ["completed", [8, 7], `status = 'completed', ${over}`],
    ])("of those that are %s", (status, found, assignments) => {
      test("has each of them, newest first, and goes on behind the last one of the page ahead", async () => {
        for (let n = 1; n <= 8; n += 1) await start(n, {});
        const ids = found.map(idOf);
        await stage.onlooker.query(`update layover.run_state set ${assignments} where run_id = any ($1)`, [ids]);
        // None of the others is seen as this.
        await stage.onlooker.query(
          "update layover.run_state set paused_at = layover.now(), due_at = null where not (run_id = any ($1))",
          [ids],
        );
        expect(await list({ status })).toEqual(found);
        expect(await pagesOf({ status })).toEqual(found);
      });
    });

    test.each([{ tags: { colour: "green" } }, { tags: { edge: "blue" } }, { tags: { ...red, size: "red" } }])(
      "has none where no run has all that is asked for: %o",
      async (call) => {
        await someRuns();
        await start(8, { tags: { size: "red" } });
        expect(await list(call)).toEqual([]);
      },
    );

    describe("that are old", () => {
      const day = 86_400_000;
      const newId = (ms: number, n: number) =>
        `${ms.toString(16).padStart(12, "0").replace(/^.{8}/, "$&-")}-7000-8000-00000000000${n}`;
      /** Run 1 was created ten days ago; run 2 then too, by a clock that was almost a day ahead; 3 to 6 now, and 7 has an id of another version. */
      async function someOldRuns(): Promise<number> {
        const [row] = await stage.onlooker.query("select layover.to_ms(layover.now()) as now");
        const now = Number(row?.["now"]);
        const old = now - 10 * day;
        const ids = [newId(old, 1), newId(old + day - 1_000, 2), ...[3, 4, 5, 6].map((n) => newId(now - n, n))];
        const all = [...ids.toSorted(), "f0000000-0000-4000-8000-000000000007"];
        for (const runId of all) await stage.onlooker.call("start_run", { ...aStart(runId), tags: red });
        const isOld = "right(id::text, 1) in ('1', '2', '7')";
        await stage.onlooker.query(`update layover.run set created_at = layover.from_ms($1) where ${isOld}`, [old]);
        return old;
      }

      test.each([{}, { tags: red }, { workflow: "flow" }, { status: "queued" }])(
        "are found without looking at all that are newer, and those with an id of another version, too: %o",
        async (more) => {
          const old = await someOldRuns();
          const call = { limit: 10, walk: 4, createdBefore: old + 1, ...more };
          const { runs, next } = await stage.onlooker.call("list_runs", call);
          expect(runs.map(({ runId }) => Number(runId.at(-1)))).toEqual([7, 2, 1]);
          expect(next).toBeNull();
          const second = await stage.onlooker.call("list_runs", { ...call, limit: 1, before: runs[0]?.runId ?? "" });
          expect(second.runs).toEqual([runs[1]]);
          expect(await list({ ...more, createdBefore: old })).toEqual([]);
        },
      );

      test("are found by their end likewise", async () => {
        const old = await someOldRuns();
        await stage.onlooker.query(
          `update layover.run_state set status = 'completed', ready_at = null, due_at = null,
          ended_at = layover.from_ms($1) where right(run_id::text, 1) in ('2', '7')`,
          [old],
        );
        expect(await list({ walk: 4, endedBefore: old + 1 })).toEqual([7, 2]);
        expect(await list({ walk: 4, endedBefore: old })).toEqual([]);
      });
    });

    test("that one run has started has each of them, newest first, and no others", async () => {
      for (let n = 1; n <= 5; n += 1) await start(n, {});
      await stage.onlooker.query("update layover.run set parent_run_id = $1 where id = any ($2)", [
        idOf(1),
        [idOf(2), idOf(4), idOf(5)],
      ]);
      expect(await list({ parent: idOf(1) })).toEqual([5, 4, 2]);
      expect(await pagesOf({ parent: idOf(1) })).toEqual([5, 4, 2]);
      expect(await list({ parent: idOf(2) })).toEqual([]);
      expect(await list({ parent: idOf(1), workflow: "other" })).toEqual([]);
    });

    test("is empty where there are none", async () => {
      expect(await list()).toEqual([]);
    });

    describe("that few runs match", () => {
      /** 3,000 runs that are completed; each 500th failed, and each 1,000th waits for ever. */
      async function manyRuns(): Promise<void> {
        await stage.onlooker.query(`
          with made as (
            insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
              select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'default', 'flow', 1, '0null', true,
                  layover.now() from generate_series(1, 3000) as n returning id)
          insert into layover.run_state (run_id, namespace, status, last_record_at, ended_at, error)
            select m.id, 'default', case when m.is_waiting then 'parked' when m.is_failed then 'failed' else 'completed' end,
                layover.now(), case when not m.is_waiting then layover.now() end,
                case when m.is_failed and not m.is_waiting then '0null' end
              from (select id, right(id::text, 3) = '000' as is_waiting, right(id::text, 3) in ('000', '500') as is_failed
                from made) as m`);
      }

      /** How many rows of runs a page reads, as Postgres counts them. */
      async function rowsRead(call: object): Promise<number> {
        const reader = await stage.session("reader");
        await reader.begin();
        await reader.call("list_runs", { limit: 10, ...call });
        const [row] = await reader.query(`select sum(seq_tup_read + idx_tup_fetch)::integer as rows
          from pg_stat_xact_user_tables where schemaname = 'layover' and relname in ('run', 'run_state')`);
        await reader.rollback();
        return Number(row?.["rows"]);
      }

      const nobody = { workflow: "nobody", status: "completed" };

      test("stops after as many rows as it may look at, and says where to go on", async () => {
        await manyRuns();
        const page = await stage.onlooker.call("list_runs", { limit: 10, walk: 100, status: "completed", tags: {} });
        expect(page).toMatchObject({ runs: { length: 10 }, next: null });
        const none = await stage.onlooker.call("list_runs", {
          limit: 10,
          walk: 100,
          status: "sleeping",
          workflow: "x",
        });
        expect(none).toEqual({ runs: [], next: null }); // three runs are live
        await stage.onlooker.query("update layover.run_state set ended_at = null, status = 'parked', error = null");
        const live = await stage.onlooker.call("list_runs", { limit: 10, walk: 100, status: "paused" });
        expect(live).toEqual({ runs: [], next: "00000000-0000-7000-8000-000000002901" });
        const on = { limit: 10, walk: 100, status: "paused", before: live.next };
        expect((await stage.onlooker.call("list_runs", on)).next).toBe("00000000-0000-7000-8000-000000002801");
      });

      test.each([
        ["blocked", { status: "blocked" }],
        ["failed", { status: "failed" }],
        ["waiting", { status: "waiting" }],
        ["completed of a workflow that has none", nobody],
      ])("reads few rows: %s", async (_, call) => {
        await manyRuns();
        expect(await rowsRead({ ...call, walk: 200 })).toBeLessThan(1_000);
      });
    });

    test.each([
      ["looks at its runs", "layover.tag"],
      ["describes them", "layover.pending"],
    ])("leaves out what is pruned while it %s", async (_, table) => {
      await someRuns();
      const gate = await stage.gate(table, "access exclusive");
      const reader = await stage.session("reader");
      const answer = reader.call("list_runs", { limit: 10 });
      await reader.untilBlocked(gate);
      await gate.query("select layover.delete_rows($1)", [idOf(3)]);
      await gate.commit();
      expect((await answer).runs.map(({ runId }) => Number(runId.at(-1)))).toEqual([5, 4, 2, 1]);
    });
  },
  { isOwn: true },
);
