/** A run that is pruned or deleted takes all of its own rows along, and no others. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aDemand, aRecord, aStart, at, branches, minute, noon, Run, terms } from "./runs.ts";
import { type Stage, stageOn } from "./stage.ts";

const tables = [
  ...["run", "run_state", "record", "pending", "map", "attempt", "signal", "callback", "tag"],
  ...["operation", "setback", "patch"],
];

/** Makes a run that has rows in every table. */
async function aRunOfAllKinds(stage: Stage): Promise<Run> {
  await stage.onlooker.call("adopt_environment", terms);
  const start = { ...aStart(), tags: { colour: "red" } };
  await stage.onlooker.call("start_run", start);
  const run = new Run(stage, start.runId);
  await run.claim(stage.onlooker, { token: "first" });
  const map = { path: "all", slots: null, failsFast: false };
  const demands = [...branches(["all/a", "all/b"], map), aDemand("callback", "approval", { ordinal: 3 })];
  const attempt = { ...at("charge"), number: 1, beganAt: noon, endedAt: noon, error: "0null", demandedAfter: 0 };
  const patches = [{ path: "check first", position: 0 }];
  await run.finish(stage.onlooker, { token: "first", records: [aRecord("step", "charge")], attempt, demands, patches });
  await run.signal(stage.onlooker, "address");
  await run.answer(stage.onlooker, "approval");
  await run.operate(stage.onlooker, "pause");
  await stage.look(
    "insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until) values ($1, '', 0, 1, '', 1, layover.now(), layover.now())",
    [run.id],
  );
  return run;
}

describeSomePostgres(
  "the end of all that is kept of a run",
  (database) => {
    const stage = stageOn(database);

    const call = { keepMs: minute, keepFailedMs: minute, limit: 10 };
    const byPruning = async () =>
      expect(await stage.onlooker.call("prune_runs", call)).toEqual({ pruned: 1, isMore: false });
    const byDeletion = async ({ id: runId }: Run) => {
      const answer = await stage.onlooker.call("delete_run", { runId, callId: randomUUID() });
      expect(answer).toEqual({ outcome: "deleted", runId });
    };

    test.each([
      ["pruning", byPruning],
      ["deletion", byDeletion],
    ])("by its %s leaves nothing of it, and all of the others", async (_, remove) => {
      const run = await aRunOfAllKinds(stage);
      const other = await aRunOfAllKinds(stage);
      const rowsOf = async ({ id }: Run) => {
        const counts = tables.map((table) => {
          const key = table === "run" ? "id" : "run_id";
          return `(select count(*)::integer from layover.${table} where ${key} = $1) as ${table}`;
        });
        return (await stage.look(`select ${counts.join(", ")}`, [id]))[0];
      };
      const before = await rowsOf(other);
      expect(Object.values(before ?? {}).every((count) => Number(count) > 0)).toBe(true);
      expect(await rowsOf(run)).toEqual(before);
      await stage.onlooker.query(
        "update layover.run_state set status = 'completed', ended_at = $2, ready_at = null, due_at = null, paused_at = null where run_id = $1",
        [run.id, new Date(noon)],
      );
      await stage.clock.advance(minute);
      await remove(run);
      expect(await rowsOf(run)).toEqual(Object.fromEntries(tables.map((table) => [table, 0])));
      expect(await rowsOf(other)).toEqual(before);
    });
  },
  { perTest: true },
);
