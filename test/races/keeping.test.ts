/** How long a run is kept that is over: so long, to the millisecond, and the oldest go first. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRunAtWork, minute, noon, type Run } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a run that is over is kept",
  (database) => {
    const stage = stageOn(database);
    const aRunThatEnded = async (next: "completed" | "failed" | "cancelled", at = noon): Promise<Run> => {
      const run = await aRunAtWork(stage);
      await stage.clock.set(at);
      await run.finish(stage.onlooker, { token: "first", next, value: "0null" });
      return run;
    };
    const prune = (keep: object) => stage.onlooker.call("prune_runs", { limit: 10, ...keep });
    const isGone = async (run: Run) => Object.keys(await run.state()).length === 0;

    test.each([
      ["completed", { keepMs: minute, keepFailedMs: 3 * minute }, minute],
      ["cancelled", { keepMs: minute, keepFailedMs: 3 * minute }, minute],
      ["failed", { keepMs: minute, keepFailedMs: 3 * minute }, 3 * minute],
      ["completed", { keepMs: 3 * minute, keepFailedMs: minute }, 3 * minute],
      ["failed", { keepMs: 3 * minute, keepFailedMs: minute }, minute],
      ["completed", { keepMs: minute, keepFailedMs: minute }, minute],
      ["failed", { keepMs: minute, keepFailedMs: minute }, minute],
    ] as const)("as long as its end asks for: %s, by %o", async (next, keep, ms) => {
      const run = await aRunThatEnded(next);
      await stage.clock.set(noon + ms - 1);
      expect(await prune(keep)).toEqual({ pruned: 0 });
      await stage.clock.set(noon + ms);
      expect(await prune(keep)).toEqual({ pruned: 1 });
      expect(await isGone(run)).toBe(true);
    });

    test("as long as its namespace asks for, whatever another one does", async () => {
      const run = await aRunThatEnded("completed");
      await stage.clock.advance(minute);
      expect(await prune({ namespace: "elsewhere", keepMs: 0, keepFailedMs: 0 })).toEqual({ pruned: 0 });
      expect(await isGone(run)).toBe(false);
    });

    test("longer where there are more than one call takes: the oldest go first, and it says how many", async () => {
      const runs: Run[] = [];
      for (const ms of [2, 0, 1, 3]) runs.push(await aRunThatEnded("completed", noon + ms));
      await stage.clock.set(noon + minute);
      const gone = async () => (await Promise.all(runs.map(isGone))).map(Number);
      expect(await prune({ keepMs: 0, keepFailedMs: 0, limit: 2 })).toEqual({ pruned: 2 });
      expect(await gone()).toEqual([0, 1, 1, 0]);
      expect(await prune({ keepMs: 0, keepFailedMs: 0, limit: 1 })).toEqual({ pruned: 1 });
      expect(await gone()).toEqual([1, 1, 1, 0]);
    });
  },
  { perTest: true },
);
