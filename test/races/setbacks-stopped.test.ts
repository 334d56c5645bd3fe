/** The last try of a turn, during which its run is cancelled or times out. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRunAtWork, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("a finish that sets its run back", (database) => {
  const stage = stageOn(database);

  test.each([
    ["its cancel was asked for", "cancel_requested_at"],
    ["its timeout has passed", "timeout_at"],
  ])(
    "does not block its run after the last try if %s meanwhile: the next claim tells its handler",
    async (_, column) => {
      const [run, another] = [await aRunAtWork(stage), await aRunAtWork(stage)];
      const triedOften = `insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until)
      values ($1, '', 1, 1, 'it took too long', 4, layover.now(), layover.now())`;
      for (const { id } of [run, another]) await stage.onlooker.query(triedOften, [id]);
      await stage.onlooker.query(`update layover.run_state set ${column} = layover.now() where run_id = $1`, [run.id]);
      const finish = { token: "first", next: "parked", setback: "it took too long" } as const;
      expect(await another.finish(stage.onlooker, finish)).toMatchObject({ isReady: false, isBlocked: true });
      expect(await run.finish(stage.onlooker, finish)).toMatchObject({ isReady: true, isBlocked: false });
      expect(await stage.look("select from layover.setback where run_id = $1", [run.id])).toEqual([]);
      expect(await run.state()).toMatchObject({ status: "parked", blocked: null, dueAt: soon });
      expect(await run.claim(stage.onlooker, { token: "second", turn: 2 })).toMatchObject({ outcome: "claimed" });
      const records = await stage.look("select kind from layover.record where run_id = $1", [run.id]);
      expect(records).toEqual([{ kind: "closing" }]);
    },
  );
});
