/** An act on many runs answers in the order of their ids, and no more than a caller can take. */
import { expect, test } from "vitest";
import type { OperateRunsCall } from "../../src/postgres/wire-operations.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { idOf as childId, startMany } from "./invoking.ts";
import { aParkedRun, aRun, aRunAtWork, aWaitFor, branches, type Run, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "an act on many runs tells",
  (database) => {
    const stage = stageOn(database);
    const idOf = (n: number) => `019b799c-f200-7000-8000-0000000000${n}`;
    const operate = (verb: OperateRunsCall["verb"], more: Partial<OperateRunsCall> = {}) =>
      stage.onlooker.call("operate_runs", {
        ...{ verb, filter: { workflow: "flow" }, limit: 100, walk: 100, armed: [soon] },
        callId: `019b799d-0000-7000-8000-0000000000${verb === "pause" ? "fe" : "ff"}`,
        ...more,
      });
    const start = async (...numbers: readonly number[]) => {
      const runs: Run[] = [];
      for (const n of numbers) runs.push(await aRun(stage, { runId: idOf(n) }));
      return runs;
    };

    test("of runs that may be claimed in the order of their ids", async () => {
      await start(12, 10, 11);
      await operate("pause");
      const { turns } = await operate("resume");
      expect(turns).toEqual([10, 11, 12].map((n) => ({ runId: idOf(n), turn: 1 })));
    });

    test("of refused runs in the order of the codes", async () => {
      await start(10, 12);
      const cancelled = await aRunAtWork(stage, { runId: idOf(11) });
      await cancelled.operate(stage.onlooker, "cancel");
      await stage.onlooker.query(
        `insert into layover.operation (run_id, call_id, verb, asked_at, verdict)
           select $1, gen_random_uuid(), 'pause', layover.now(), '{}' from generate_series(1, 1000)`,
        [idOf(10)],
      );
      const { refused } = await operate("pause");
      expect(refused?.map(({ code }) => code)).toEqual(["not_applicable", "too_many_operations"]);
    });

    test("of the first thousand branches that may be claimed, in the order of the runs' ids", async () => {
      const paths = Array.from({ length: 100 }, (_, number) => `b${number}`);
      const numbers = Array.from({ length: 11 }, (_, number) => 20 - number);
      for (const n of numbers) await aParkedRun(stage, branches(paths), { runId: idOf(n) });
      await operate("pause");
      const told = (await operate("resume")).branches;
      expect(told?.map(({ runId }) => runId)).toEqual(
        numbers
          .toReversed()
          .slice(0, 10)
          .flatMap((n) => paths.map(() => idOf(n))),
      );
    });

    test("of the first thousand turns of runs and of what they have started, in the order of the runs' ids", async () => {
      const numbers = [12, 10, 11];
      const childrenOf = (n: number) => Array.from({ length: 400 }, (_, index) => childId(1_000 * n + index));
      for (const n of numbers) {
        const parent = await aParkedRun(stage, [aWaitFor("go")], { runId: idOf(n) });
        await startMany(stage, parent, childrenOf(n));
      }
      const { turns } = await operate("cancel");
      const named = (n: number) => turns?.filter(({ runId }) => [idOf(n), ...childrenOf(n)].includes(runId));
      expect([10, 11, 12].map((n) => named(n)?.length)).toEqual([401, 401, 198]);
    });

    test("of the run that waited for one that is deleted, where that one is ended first", async () => {
      const parent = await aParkedRun(stage, [aWaitFor("go")], { runId: idOf(10) });
      await startMany(stage, parent, [childId(1)]);
      const told = await operate("delete", { filter: { workflow: "child" }, cancels: true });
      expect(told).toMatchObject({ outcomes: { deleted: 1 }, turns: [{ runId: parent.id, turn: 2 }] });
      expect(await parent.claim(stage.onlooker, { turn: 2, token: "second" })).toMatchObject({
        children: { ends: [{ status: "cancelled" }] },
      });
    });

    test("of all runs of a page, also of those that are deleted meanwhile", async () => {
      await start(11);
      const runs = [12, 10, 11].map(idOf);
      expect(await stage.onlooker.query("select layover.within_children($1) as runs", [runs])).toEqual([{ runs }]);
      expect(await stage.onlooker.query("select layover.within_children('{}') as runs", [])).toEqual([{ runs: [] }]);
    });
  },
  { perTest: true },
);
