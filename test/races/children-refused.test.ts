/** A run that a turn names is not always started. Its parent's history says why. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { idOf, startingOn } from "./invoking.ts";
import { aRun, aRunAtWork } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a run that a turn starts",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "positions are dense from 1, and last_position is the last",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "due may be early, never late (by more than two minutes)",
        "the end of a run has reached the one that waits for it",
        "a parked run with a record that its handler has not seen is ready, unless its map waits for more",
      ],
    });
    const { start, made, records, waits, row } = startingOn(stage);

    test("is recorded as it is refused, if its id or its user's id is taken, and the others are not", async () => {
      const parent = await aRunAtWork(stage);
      const taken = await aRun(stage, { id: "o1" });
      await start(parent, [
        { path: "a", runId: taken.id, ordinal: 1 },
        { path: "b", id: "o1", ordinal: 2 },
        { path: "c", id: "o2", ordinal: 3, runId: idOf(1) },
        { path: "d", id: "o1", workflow: "other", ordinal: 4, runId: idOf(2) },
      ]);
      expect(await made(parent)).toEqual([idOf(1), idOf(2)]);
      expect(await records(parent)).toMatchObject([
        { position: 1, path: "a", is_failure: true, value: expect.stringContaining(taken.id) },
        { position: 2, path: "b", is_failure: true, value: expect.stringContaining("o1") },
      ]);
      expect((await waits(parent)).map(({ path }) => path)).toEqual(["c", "d"]);
      expect(await row(parent, "children")).toEqual({ children: 2 });
    });

    test.each([
      ["the depth", "depth", 19, 20, {}],
      ["the chain", "chain", 999, 1000, {}],
      ["the chain of those that nobody waits for", "chain", 999, 1000, { isDetached: true }],
    ])("is refused beyond the greatest length of %s", async (_, column, last, beyond, more) => {
      for (const [value, count] of [
        [last, 1],
        [beyond, 0],
      ]) {
        const parent = await aRunAtWork(stage);
        await stage.onlooker.query(`update layover.run set ${column} = $2 where id = $1`, [parent.id, value]);
        await start(parent, [more]);
        expect(await made(parent)).toHaveLength(count ?? -1);
        const refusals = (await records(parent)).filter((record) => record["is_failure"] === true);
        expect(refusals).toHaveLength(1 - (count ?? -1));
        for (const { value: why } of refusals) expect(why).toContain("chain_too_long");
      }
    });

    test("is told as none where no other one was started", async () => {
      const parent = await aRunAtWork(stage);
      const taken = await aRun(stage);
      expect(await start(parent, [{ runId: taken.id }])).toMatchObject({ hasStarted: true, others: [] });
    });

    test("may go as deep as it will, if nobody waits for it", async () => {
      const parent = await aRunAtWork(stage);
      await stage.onlooker.query("update layover.run set depth = 20 where id = $1", [parent.id]);
      await start(parent, [{ isDetached: true }]);
      expect(await made(parent)).toHaveLength(1);
    });

    describe("is started where", () => {
      const waiting = "update layover.run_state set";
      test.each([
        ["the parent's timeout is to come", `${waiting} timeout_at = layover.now() + interval '1 ms'`, 1],
        ["the parent has reached its timeout", `${waiting} timeout_at = layover.now()`, 0],
        ["the parent is paused", `${waiting} paused_at = layover.now(), due_at = null`, 0],
        ["the parent closes", `${waiting} is_closing = true, cancelled_position = 0`, 0],
        ["another run is paused", `${waiting} paused_at = layover.now(), due_at = null where run_id <> $1`, 1],
      ])("%s", async (_, change, count) => {
        const parent = await aRunAtWork(stage);
        await aRun(stage);
        await stage.onlooker.query(change.includes("$1") ? change : `${change} where run_id = $1`, [parent.id]);
        await start(parent, [{}]);
        expect(await made(parent)).toHaveLength(count);
      });
    });
  },
  { perTest: true },
);
