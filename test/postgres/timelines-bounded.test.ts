/** A timeline shows only the end of each long list, in order, and only what belongs to its own run. */
import { expect, test } from "vitest";
import { aDemand, aParkedRun, aRun, type Run } from "../races/runs.ts";
import { stageOn } from "../races/stage.ts";
import { describeSomePostgres } from "./database.ts";

describeSomePostgres(
  "a timeline",
  (database) => {
    const stage = stageOn(database, { breaks: ["nothing is left of a run that is gone"] });
    const historyOf = async (run: Run) => {
      const history = await stage.onlooker.call("get_history", { runId: run.id });
      if ("outcome" in history) throw new Error(`There is no such run: ${run.id}`);
      return history;
    };
    const fill = (rows: string, { id }: Run, count: number) => stage.onlooker.query(rows, [id, count]);
    const children = `insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at, parent_run_id,
        parent_path, parent_occurrence)
      select ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 'default', 'flow', 1, '0{}', true,
          layover.now() + i * interval '1 s', $1, 'child ' || i, 1 from generate_series($2::integer, 1, -1) as i`;
    const operations = `insert into layover.operation (run_id, call_id, verb, asked_at, verdict)
      select $1, gen_random_uuid(), 'pause ' || i, layover.now() + i * interval '1 s', '{"outcome": "paused"}'
        from generate_series($2::integer, 1, -1) as i`;
    const epochs = `insert into layover.epoch (run_id, epoch, why, is_input_parsed, began_at, kept, segments)
      select $1, i, 'restarted', true, layover.now(), 0, '[]' from generate_series($2::integer, 1, -1) as i`;
    const from = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

    test("has its last 1,000 children, 100 operations and 100 epochs, each list in order", async () => {
      const [run, other] = [await aRun(stage), await aRun(stage)];
      await fill(children, run, 1_001);
      for (const rows of [operations, epochs]) {
        await fill(rows, run, 101);
        await fill(rows, other, 5);
      }
      const told = await historyOf(run);
      expect(told.children?.map(({ path }) => path)).toEqual(from(2, 1_001).map((number) => `child ${number}`));
      expect(told.operations?.map(({ verb }) => verb)).toEqual(from(2, 101).map((number) => `pause ${number}`));
      expect(told.epochs?.map(({ epoch }) => epoch)).toEqual(from(2, 101));
    });

    test("has no child of another run", async () => {
      const [run, other] = [await aRun(stage), await aRun(stage)];
      await fill(children, other, 1);
      expect(await historyOf(run)).toMatchObject({ children: [] });
      expect((await historyOf(other)).children).toHaveLength(1);
    });

    test("tells of each wait for which epoch of the run its URL was made: its own, or the present one", async () => {
      const run = await aParkedRun(stage, [aDemand("callback", "a"), aDemand("callback", "b")]);
      await stage.onlooker.query("update layover.run_state set epoch = 3");
      await stage.onlooker.query("update layover.pending set callback_epoch = 2 where path = 'b'");
      expect((await historyOf(run)).pending).toMatchObject([{ epoch: 3 }, { epoch: 2 }]);
    });
  },
  { perTest: true },
);
