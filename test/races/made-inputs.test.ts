/** The input that a run's code has made at its first turn: it is kept with the run's first finish, and never made again. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRunAtWork, type Run } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("an input that a run's code has made", (database) => {
  const stage = stageOn(database);
  const bySql = (text: string, ...values: readonly string[]) => stage.onlooker.query(text, [...values]);
  const inputOf = async (run: Run) => {
    const [row] = await stage.look("select input, is_input_parsed from layover.run where id = $1", [run.id]);
    return row;
  };
  /** The epochs of a run: whether the input of each is there, in their order. */
  const epochsOf = async (run: Run) =>
    (await stage.look("select is_input_parsed from layover.epoch where run_id = $1 order by epoch", [run.id])).map(
      ({ is_input_parsed }) => is_input_parsed,
    );
  /** A run at work whose input is still to be made, in an epoch that was begun by a restart, after another one. */
  const aRestartedRun = async (): Promise<Run> => {
    const run = await aRunAtWork(stage);
    await bySql("update layover.run set is_input_parsed = false where id = $1", run.id);
    await bySql("update layover.run_state set epoch = 2 where run_id = $1", run.id);
    await bySql(
      `insert into layover.epoch (run_id, epoch, why, is_input_parsed, began_at, segments)
       select $1, number, 'restarted', false, layover.now(), '[]' from generate_series(1, 2) as number`,
      run.id,
    );
    return run;
  };
  const finish = (run: Run, input: string) => run.finish(stage.onlooker, { token: "first", next: "parked", input });

  test("is kept with the finish, for the run and for the epoch that it is in", async () => {
    const run = await aRestartedRun();
    const other = await aRestartedRun();
    await finish(run, '0"made"');
    expect(await inputOf(run)).toEqual({ input: '0"made"', is_input_parsed: true });
    expect(await epochsOf(run)).toEqual([false, true]);
    expect(await inputOf(other)).toMatchObject({ is_input_parsed: false });
    expect(await epochsOf(other)).toEqual([false, false]);
  });

  test("does not replace one that was made before", async () => {
    const run = await aRestartedRun();
    await bySql("update layover.run set input = '0\"first\"', is_input_parsed = true where id = $1", run.id);
    await finish(run, '0"second"');
    expect(await inputOf(run)).toEqual({ input: '0"first"', is_input_parsed: true });
  });

  test("is none of an epoch that was begun with an input of its own", async () => {
    const run = await aRestartedRun();
    await bySql("update layover.epoch set input = '0\"raw\"' where run_id = $1 and epoch = 2", run.id);
    await finish(run, '0"made"');
    expect(await epochsOf(run)).toEqual([false, false]);
  });
});
