/** When the scheduler must look at a run that parks, and from when it may be claimed: early, never late. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { rowsOn } from "./rows.ts";
import {
  aDemand,
  aFanOut,
  aParkedRun,
  aRecord,
  aRun,
  aRunAtWork,
  aWaitFor,
  branches,
  minute,
  noon,
  type Run,
  soon,
} from "./runs.ts";
import { stageOn } from "./stage.ts";

const hour = 60 * minute;
const armed = [soon, noon + 3 * minute, noon + 2 * hour];

describeSomePostgres(
  "the scheduler looks",
  (database) => {
    const stage = stageOn(database, { breaks: ["a parked run of which a sleep, a wait or a retry is over is ready"] });
    const { set } = rowsOn(stage);
    const ready = (run: Run) => set(run, "ready_at = layover.now(), due_at = layover.now() + interval '2 hours'");

    test("at the branch that is ready first, whatever the lease of another one", async () => {
      const run = await aFanOut(stage, ["a"]);
      await stage.onlooker.query("update layover.pending set leased_until = layover.now() + interval '5 minutes'");
      await ready(run);
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      await run.finish(stage.onlooker, { token: "second", demands: branches(["b"]), armed });
      expect(await run.state()).toMatchObject({ dueAt: soon });
    });

    test("at a branch no later than before, though its run goes on", async () => {
      const run = await aFanOut(stage, ["a"]);
      await ready(run);
      await set(run, "due_at = layover.now() + interval '1 minute'");
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      const records = [aRecord("step", "charge")];
      await run.finish(stage.onlooker, { token: "second", next: "ready", armed: armed.slice(1), records });
      expect(await run.state()).toMatchObject({ dueAt: soon });
    });

    test("at the end of a sleep, and not before", async () => {
      const nap = aDemand("sleep", "nap", { until: noon + 3 * minute });
      const run = await aParkedRun(stage, [nap], { armed });
      expect(await run.state()).toMatchObject({ readyAt: noon + 3 * minute, dueAt: noon + 3 * minute });
    });

    test("at the cancel that was asked for, though the timeout is later", async () => {
      const run = await aRunAtWork(stage, { timeoutMs: hour });
      await set(run, "cancel_requested_at = layover.now()");
      await run.finish(stage.onlooker, { token: "first", demands: [aWaitFor("address")], armed });
      expect(await run.state()).toMatchObject({ readyAt: noon, dueAt: soon });
    });

    test("at the timeout of a run that waits for a signal", async () => {
      const run = await aRunAtWork(stage, { timeoutMs: hour });
      await run.finish(stage.onlooker, { token: "first", demands: [aWaitFor("address")], armed });
      expect(await run.state()).toMatchObject({ readyAt: noon + hour, dueAt: noon + 3 * minute });
    });

    describe("at a run that a signal makes ready", () => {
      test.each([
        ["for nothing else", undefined, null],
        ["until later", noon + 2 * hour, noon + 2 * hour],
      ])("as soon as that was armed for, which waited %s", async (_, until, due) => {
        const wait = aWaitFor("address", until === undefined ? {} : { until });
        const run = await aParkedRun(stage, [wait], { armed: [noon + 2 * hour] });
        expect(await run.state()).toMatchObject({ dueAt: due });
        await run.signal(stage.onlooker, "address");
        expect(await run.state()).toMatchObject({ readyAt: noon, dueAt: soon });
      });

      test("no later than before", async () => {
        const run = await aParkedRun(stage, [aWaitFor("address", { until: noon + 2 * hour })]);
        expect(await run.state()).toMatchObject({ dueAt: soon });
        await run.signal(stage.onlooker, "address", { armed: [noon + hour] });
        expect(await run.state()).toMatchObject({ dueAt: soon });
      });

      test("which comes at its deadline, to the millisecond, and not later", async () => {
        for (const [late, isReady] of [
          [0, true],
          [1, false],
        ] as const) {
          await stage.clock.set(noon);
          const run = await aParkedRun(stage, [aWaitFor("address", { until: noon + minute })]);
          await set(run, "ready_at = null");
          await stage.clock.set(noon + minute + late);
          await run.signal(stage.onlooker, "address");
          expect(await run.state()).toMatchObject({ isReady });
        }
      });
    });

    describe("of a run at its timeout, to the millisecond, nobody goes on as if it were not:", () => {
      const timeoutMs = 3 * minute;
      const isCancelled = async (run: Run, turn: number) => {
        await stage.clock.set(noon + timeoutMs);
        const claimed = await run.claim(stage.onlooker, { token: "last", turn });
        expect(claimed).toMatchObject({ outcome: "claimed", position: 1 });
        expect(await run.state()).toMatchObject({ cancelledPosition: 1 });
      };

      test("a run that is ready", async () => {
        await isCancelled(await aRun(stage, { timeoutMs }), 1);
      });

      test("a run that waits", async () => {
        const run = await aRunAtWork(stage, { timeoutMs });
        await run.finish(stage.onlooker, { token: "first", demands: [aWaitFor("address")] });
        await isCancelled(run, 2);
      });

      test("a run whose branch has a lease that ends at that very instant", async () => {
        const run = await aFanOut(stage, ["a"], { timeoutMs });
        await stage.onlooker.query("update layover.pending set leased_until = $1", [new Date(noon + timeoutMs)]);
        await isCancelled(run, 2);
      });

      test("but as long as the last of its branches is at work, it waits for that one", async () => {
        const run = await aFanOut(stage, ["a", "b", "c"], { timeoutMs });
        for (const [path, minutes] of Object.entries({ a: 4, b: 5, c: 2 })) {
          await stage.onlooker.query("update layover.pending set leased_until = $1 where path = $2", [
            new Date(noon + minutes * minute),
            path,
          ]);
        }
        await stage.clock.set(noon + timeoutMs);
        const waits = { outcome: "not_ready", readyAt: noon + 5 * minute };
        expect(await run.claim(stage.onlooker, { token: "last", turn: 2 })).toEqual(waits);
        expect(await run.history()).toEqual([]);
      });
    });
  },
  { perTest: true },
);
