/** How long a run is kept that is over: so long, to the millisecond, and the oldest go first. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRunAtWork, minute, noon, type Run, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

const day = 24 * 60 * minute;

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
      expect(await prune(keep)).toEqual({ pruned: 0, isMore: false });
      await stage.clock.set(noon + ms);
      expect(await prune(keep)).toEqual({ pruned: 1, isMore: false });
      expect(await isGone(run)).toBe(true);
    });

    test("as long as its namespace asks for, whatever another one does", async () => {
      const run = await aRunThatEnded("completed");
      await stage.clock.advance(minute);
      expect(await prune({ namespace: "elsewhere", keepMs: 0, keepFailedMs: 0 })).toEqual({ pruned: 0, isMore: false });
      expect(await isGone(run)).toBe(false);
    });

    test("longer where there are more than one call takes: the oldest go first, and it says how many", async () => {
      const runs: Run[] = [];
      for (const ms of [2, 0, 1, 3]) runs.push(await aRunThatEnded("completed", noon + ms));
      await stage.clock.set(noon + minute);
      const gone = async () => (await Promise.all(runs.map(isGone))).map(Number);
      expect(await prune({ keepMs: 0, keepFailedMs: 0, limit: 2 })).toEqual({ pruned: 2, isMore: true });
      expect(await gone()).toEqual([0, 1, 1, 0]);
      expect(await prune({ keepMs: 0, keepFailedMs: 0, limit: 1 })).toEqual({ pruned: 1, isMore: true });
      expect(await gone()).toEqual([1, 1, 1, 0]);
    });

    const rule = (completed: number) => ({ retention: { flow: { completed } } });
    const days = (count: number) => ({ keepMs: count * day, keepFailedMs: count * day });

    test("as long as its workflow asks for, for that outcome, whatever the deployment says", async () => {
      const runs = [await aRunThatEnded("completed"), await aRunThatEnded("failed"), await aRunThatEnded("cancelled")];
      const keep = { ...days(1), retention: { flow: { completed: minute, failed: 2 * day }, other: { failed: 0 } } };
      const goneAfter = async (ms: number) => {
        await stage.clock.set(noon + ms);
        await prune(keep);
        return (await Promise.all(runs.map(isGone))).map(Number);
      };
      expect(await goneAfter(minute - 1)).toEqual([0, 0, 0]);
      expect(await goneAfter(minute)).toEqual([1, 0, 0]);
      expect(await goneAfter(day)).toEqual([1, 0, 1]);
      expect(await goneAfter(2 * day)).toEqual([1, 1, 1]);
    });

    test("as long as the build asks for that each deployment has deployed last, also where it is silent since", async () => {
      const run = await aRunThatEnded("completed");
      const note = (deploymentName: string, deployment: string, completed: number, namespace = "default") =>
        stage.onlooker.call("note_deployment", {
          ...{ ...terms, namespace, deploymentName, deployment, note: "deployed" },
          ...{ versions: { flow: [1] }, ...rule(completed) },
        });
      expect(await note("one", "old", 9 * day)).toMatchObject({ outcome: "noted" });
      await stage.clock.advance(1);
      await note("one", "new", 3 * day);
      await note("other", "its", 2 * day);
      await note("elsewhere", "its", 9 * day, "shop");
      await stage.clock.set(noon + 3 * day - 1);
      expect(await prune({ ...days(1), ...rule(0) })).toMatchObject({ pruned: 0 });
      await stage.clock.set(noon + 3 * day);
      expect(await prune({ ...days(1), ...rule(0) })).toMatchObject({ pruned: 1 });
      expect(await isGone(run)).toBe(true);
    });

    test("until somebody shortens the time: what was passed over is looked at anew", async () => {
      const run = await aRunThatEnded("completed");
      await aRunThatEnded("completed", noon + 1);
      await stage.clock.set(noon + 10 * day);
      for (const _ of [1, 2]) await prune({ ...days(5), ...rule(20 * day) });
      expect(await isGone(run)).toBe(false);
      expect(await prune({ ...days(5), ...rule(6 * day) })).toMatchObject({ pruned: 2 });
    });

    test("until nobody has it locked, though the walk came by", async () => {
      const [first, second] = [await aRunThatEnded("completed"), await aRunThatEnded("completed", noon + 1)];
      await stage.clock.set(noon + 2 * day);
      const holder = await stage.session("holder");
      await holder.begin();
      await holder.query("select from layover.run_state where run_id = $1 for update", [first.id]);
      expect(await prune(days(1))).toEqual({ pruned: 1, isMore: false });
      expect([await isGone(first), await isGone(second)]).toEqual([false, true]);
      await holder.commit();
      expect(await prune(days(1))).toMatchObject({ pruned: 1 });
    });

    test("until the walk has passed all that ended in the same millisecond", async () => {
      const runs: Run[] = [];
      for (const outcome of ["failed", "failed", "completed", "completed", "completed"] as const)
        runs.push(await aRunThatEnded(outcome));
      await stage.clock.set(noon + 2 * day);
      const keep = { keepMs: day, keepFailedMs: 9 * day, limit: 1 };
      for (const _ of [1, 2, 3]) expect(await prune(keep)).toEqual({ pruned: 1, isMore: true });
      expect(await prune(keep)).toEqual({ pruned: 0, isMore: false });
      expect((await Promise.all(runs.map(isGone))).map(Number)).toEqual([0, 0, 1, 1, 1]);
    });

    test("also if it ended before the clock was set back, or was committed when the walk had passed its end", async () => {
      const kept = await aRunThatEnded("failed", noon + minute);
      const keep = { keepMs: 0, keepFailedMs: 9 * day };
      await stage.clock.set(noon + 2 * minute);
      await prune(keep);
      await aRunThatEnded("completed"); // its end is a minute before that of the run that the walk has seen
      await stage.clock.set(noon + 2 * minute);
      expect(await prune(keep)).toMatchObject({ pruned: 1 });

      await stage.clock.set(noon + 8 * day);
      await prune(keep);
      const late = await aRunThatEnded("completed", noon - day); // a clock that was wrong by days, and is right again
      await stage.clock.set(noon + 8 * day);
      expect(await prune(keep)).toMatchObject({ pruned: 0 });
      await stage.clock.set(noon - day / 2);
      expect(await prune(keep)).toMatchObject({ pruned: 1 });
      expect([await isGone(late), await isGone(kept)]).toEqual([true, false]);

      await aRunThatEnded("completed", noon - day);
      await stage.clock.set(noon + 8 * day);
      await prune({ ...keep, keepFailedMs: 100 * day });
      await aRunThatEnded("completed", noon - day);
      await stage.clock.set(noon + 39 * day); // the walk begins anew once in 30 days
      expect(await prune({ ...keep, keepFailedMs: 100 * day })).toMatchObject({ pruned: 1 });
    });

    test("leaves two who prune at once to the first of them", async () => {
      await aRunThatEnded("completed");
      await aRunThatEnded("completed");
      await stage.clock.advance(day);
      const first = await stage.session("first");
      await first.begin();
      expect(await first.call("prune_runs", { ...days(1), limit: 1 })).toMatchObject({ pruned: 1 });
      expect(await prune(days(1))).toEqual({ pruned: 0, isMore: false });
      await first.commit();
      expect(await prune(days(1))).toMatchObject({ pruned: 1 });
    });
  },
  { perTest: true },
);
