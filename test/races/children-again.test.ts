/** A run that goes on after a retry takes the runs that it had started before as they stand now. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { idOf, startingOn } from "./invoking.ts";
import { rowsOn } from "./rows.ts";
import { aRun, aRunAtWork, noon, type Run, second } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a run that a retry asks for again",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "positions are dense from 1, and last_position is the last",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "due may be early, never late (by more than two minutes)",
        "the end of a run has reached the one that waits for it",
        "a parked run is ready once a run has ended in time that it waits for",
        "a parked run with a record that its handler has not seen is ready, unless its map waits for more",
      ],
    });
    const { start, made, records, waits, row } = startingOn(stage);
    const { set } = rowsOn(stage);

    const before = "0197a000-0000-7000-8000-00000000000a";
    const after = "01980000-0000-7000-8000-00000000000a";
    /** Its parent goes on after a retry, and is about to ask for it at the place `a`. */
    const aRetried = async (why = "retried") => {
      const parent = await aRunAtWork(stage);
      const child = await aRun(stage, { runId: before });
      await stage.onlooker.query(
        "update layover.run set parent_run_id = $2, parent_path = 'a', parent_occurrence = 1 where id = $1",
        [child.id, parent.id],
      );
      await stage.onlooker.query("update layover.run_state set has_parent = true where run_id = $1", [child.id]);
      await set(parent, "epoch = 1");
      await stage.onlooker.query(
        "insert into layover.epoch (run_id, epoch, began_at, kept, why, is_input_parsed, segments) values ($1, 1, layover.now(), 0, $2, true, '[]')",
        [parent.id, why],
      );
      return { parent, child };
    };
    const end = ({ id }: { readonly id: string }, value: string) =>
      stage.onlooker.query(
        `update layover.run_state set status = 'completed', ended_at = layover.now(), result = $2, due_at = null, ready_at = null where run_id = $1`,
        [id, value],
      );
    const adopted = [{ path: "a", child_run_id: before, kind: "child" }];

    test("is taken as it stands, though its id has another time", async () => {
      const { parent } = await aRetried();
      await start(parent, [{ runId: after }]);
      expect(await made(parent)).toEqual([before]);
      expect(await waits(parent)).toMatchObject(adopted);
      expect(await records(parent)).toEqual([]);
      expect(await row(parent, "children")).toEqual({ children: 1 });
    });

    test("is another one where the parent began anew", async () => {
      const { parent } = await aRetried("restarted");
      await start(parent, [{ runId: after }]);
      expect(await made(parent)).toEqual([before, after]);
      expect(await waits(parent)).toMatchObject([{ child_run_id: after }]);
    });

    test.each([
      ["a retry ahead of it does not count", 1, [after]],
      ["what was ahead of the retry does not count", -1, []],
    ])("counts by the epoch that its parent is in: %s", async (_, ahead, more) => {
      const { parent } = await aRetried("retried");
      const other = "insert into layover.epoch (run_id, epoch, began_at, kept, why, is_input_parsed, segments)";
      await stage.onlooker.query(`${other} values ($1, $2, layover.now(), 0, 'restarted', true, '[]')`, [
        parent.id,
        1 + ahead,
      ]);
      if (ahead > 0) await set(parent, "epoch = 2");
      await start(parent, [{ runId: after }]);
      expect(await made(parent)).toEqual([before, ...more]);
    });

    test("hands over the end that a store keeps, and no other run's", async () => {
      const { parent, child } = await aRetried();
      const other = await aRunAtWork(stage);
      await start(other, [{ runId: idOf(1) }]);
      const stored = (key: string) => `2stored.7.${"0".repeat(64)}.${key}`;
      for (const [id, key] of [
        [child.id, "own"],
        [idOf(1), "other"],
      ] as const) {
        await end({ id }, stored(key));
        await stage.onlooker.query(
          "insert into layover.stored_value (namespace, key, run_id, bytes) values ('default', $1, $2, 7)",
          [key, id],
        );
      }
      const told = "child_status = 'completed', child_value = $2, child_ended_at = layover.now()";
      await stage.onlooker.query(`update layover.pending set ${told} where run_id = $1`, [other.id, stored("other")]);
      await start(parent, [{ runId: after }]);
      const held = await stage.look("select key from layover.stored_value where run_id = $1", [parent.id]);
      expect(held).toEqual([{ key: "own" }]);
    });

    test("that was left is told of no more", async () => {
      const { parent, child } = await aRetried();
      await stage.onlooker.query(
        `insert into layover.pending (run_id, path, occurrence, kind, demanded_after, ordinal, child_run_id, is_released)
           values ($1, 'left', 1, 'child', 0, 9, $2, true)`,
        [parent.id, child.id],
      );
      await end(child, "01");
      await start(parent, [{ runId: after }]);
      const rows = await stage.look("select path, child_status from layover.pending where run_id = $1 order by path", [
        parent.id,
      ]);
      expect(rows).toEqual([
        { path: "a", child_status: "completed" },
        { path: "left", child_status: null },
      ]);
    });

    test("leaves the ends of others as they were told", async () => {
      const { parent, child } = await aRetried();
      const other = await aRun(stage);
      for (const run of [child, other]) await end(run, '0"done"');
      await stage.onlooker.query(
        `insert into layover.pending (run_id, path, occurrence, kind, demanded_after, ordinal, child_run_id, child_status, child_value, child_ended_at)
           values ($1, 'told', 1, 'child', 0, 9, $2, 'completed', '0"told"', layover.now() - interval '1 s')`,
        [parent.id, other.id],
      );
      await start(parent, [{ runId: after }]);
      const told = await stage.look(
        "select child_value, layover.to_ms(child_ended_at)::float8 as at from layover.pending where path = 'told'",
      );
      expect(told).toEqual([{ child_value: '0"told"', at: noon - second }]);
    });

    test.each([
      ["at another place", {}, "parent_path = 'b'"],
      ["as another occurrence", {}, "parent_occurrence = 2"],
      ["of which nobody waited for the end", { isDetached: true }, "user_id = null"],
      ["with another id", { runId: "01980000-0000-7000-8000-00000000000b" }, "user_id = null"],
    ])("is another one than the one %s", async (_, more, change) => {
      const { parent, child } = await aRetried();
      await stage.onlooker.query(`update layover.run set ${change} where id = $1`, [child.id]);
      await start(parent, [{ runId: after, ...more }]);
      expect(await made(parent)).toHaveLength(2);
    });

    test("is another one than that of another parent", async () => {
      const { parent, child } = await aRetried();
      const other = await aRun(stage);
      await stage.onlooker.query("update layover.run set parent_run_id = $2 where id = $1", [child.id, other.id]);
      await start(parent, [{ runId: after }]);
      expect(await made(parent)).toEqual([after]);
    });

    test("tells at once how it has ended, and the others tell nothing", async () => {
      const { parent, child } = await aRetried();
      const other = await aRunAtWork(stage);
      await start(other, [{ runId: idOf(1) }]);
      for (const id of [child.id, idOf(1)]) await end({ id }, '0"done"');
      await start(parent, [{ runId: after }]);
      const ends = (run: Run) =>
        stage.look(
          "select child_status, child_value, layover.to_ms(child_ended_at)::float8 as at from layover.pending where run_id = $1",
          [run.id],
        );
      expect(await ends(parent)).toEqual([{ child_status: "completed", child_value: '0"done"', at: noon }]);
      expect(await ends(other)).toEqual([{ child_status: null, child_value: null, at: null }]);
      expect(await row(parent, "ready_at = 'epoch' as is_ready")).toEqual({ is_ready: true });
    });

    test("tells its error, if it has failed, and nothing while it goes on", async () => {
      const { parent, child } = await aRetried();
      await stage.onlooker.query(
        `update layover.run_state set status = 'failed', ended_at = layover.now(), error = '0"why"', due_at = null, ready_at = null where run_id = $1`,
        [child.id],
      );
      await start(parent, [
        { runId: after, ordinal: 1 },
        { path: "b", runId: idOf(2), ordinal: 2 },
      ]);
      const ends = await stage.look(
        "select child_status, child_value from layover.pending where run_id = $1 order by path",
        [parent.id],
      );
      expect(ends).toEqual([
        { child_status: "failed", child_value: '0"why"' },
        { child_status: null, child_value: null },
      ]);
    });
  },
  { perTest: true },
);
