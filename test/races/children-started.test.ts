/** A run that the finish of another one starts: it is there once, or not at all, and is counted. */
import { beforeEach, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { childOf, freshIds } from "./invoking.ts";
import { aRunAtWork } from "./runs.ts";
import { stageOn } from "./stage.ts";

let ids = freshIds();
beforeEach(() => {
  ids = freshIds();
});

describeSomePostgres("a run that another one waits for", (database) => {
  const stage = stageOn(database);

  test("is there once though the finish that starts it comes twice", async () => {
    const parent = await aRunAtWork(stage, { runId: ids.parent });
    const finish = () =>
      parent.finish(stage.onlooker, { token: "first", children: [childOf(ids.one, "a"), childOf(ids.two, "b")] });
    const told = await finish();
    expect(told).toMatchObject({
      hasStarted: true,
      others: [
        { runId: ids.one, turn: 1 },
        { runId: ids.two, turn: 1 },
      ],
    });
    expect(await finish()).toEqual(told);
    expect(await stage.look("select id from layover.run where parent_run_id = $1", [ids.parent])).toHaveLength(2);
  });

  test("is not started where another run has its id, and the record of that names this id", async () => {
    const other = await aRunAtWork(stage, { runId: ids.other });
    const parent = await aRunAtWork(stage, { runId: ids.parent });
    await parent.finish(stage.onlooker, { token: "first", children: [childOf(other.id, "a")] });
    const [record] = await stage.look("select is_failure, value from layover.record where run_id = $1", [ids.parent]);
    expect(record).toMatchObject({ is_failure: true, value: expect.stringContaining(`the id \\"${other.id}\\"`) });
  });

  test("is the last one where its parent has started 10,000, and the next one is recorded as refused", async () => {
    const parent = await aRunAtWork(stage, { runId: ids.parent });
    await stage.onlooker.query("update layover.run_state set children = 9999 where run_id = $1", [ids.parent]);
    const children = [childOf(ids.one, "a"), childOf(ids.two, "b", { ordinal: 2 })];
    await parent.finish(stage.onlooker, { token: "first", children });
    expect(await stage.look("select id from layover.run where parent_run_id = $1", [ids.parent])).toEqual([
      { id: ids.one },
    ]);
    const records = await stage.look("select path, is_failure, value from layover.record where run_id = $1", [
      ids.parent,
    ]);
    expect(records).toEqual([{ path: "b", is_failure: true, value: expect.stringContaining("too_many_children") }]);
    expect(await parent.state()).toMatchObject({ isReady: true });
  });

  test("counts anew in each history of its parent", async () => {
    const parent = await aRunAtWork(stage, { runId: ids.parent });
    await parent.finish(stage.onlooker, { token: "first", children: [childOf(ids.one, "a"), childOf(ids.two, "b")] });
    expect(await stage.look("select children from layover.run_state where run_id = $1", [ids.parent])).toEqual([
      { children: 2 },
    ]);
    await stage.onlooker.query("update layover.run_state set ready_at = 'epoch' where run_id = $1", [ids.parent]);
    await parent.claim(stage.onlooker, { turn: 2, token: "second" });
    await parent.finish(stage.onlooker, { token: "second", next: "ready", continues: "0{}" });
    expect(await stage.look("select children, epoch from layover.run_state where run_id = $1", [ids.parent])).toEqual([
      { children: 0, epoch: 1 },
    ]);
  });

  test("is not started by a turn that is deferred", async () => {
    const parent = await aRunAtWork(stage, { runId: ids.parent });
    await parent.signal(stage.onlooker, "go");
    const answer = await parent.finish(stage.onlooker, {
      token: "first",
      closes: ["go"],
      children: [childOf(ids.one, "a")],
    });
    expect(answer).toMatchObject({ outcome: "deferred" });
    expect(await stage.look("select id from layover.run where parent_run_id = $1", [ids.parent])).toEqual([]);
  });

  test("is not started by a turn whose run is being cancelled", async () => {
    const parent = await aRunAtWork(stage, { runId: ids.parent });
    await parent.operate(stage.onlooker, "cancel");
    const answer = await parent.finish(stage.onlooker, { token: "first", children: [childOf(ids.one, "a")] });
    expect(answer).not.toHaveProperty("hasStarted");
    expect(await stage.look("select id from layover.run where parent_run_id = $1", [ids.parent])).toEqual([]);
    expect(await parent.state()).toMatchObject({ isReady: true });
  });
});
