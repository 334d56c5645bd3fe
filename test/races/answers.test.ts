/** An answer belongs to one wait, which counts its own time; and it sends nobody where nobody is needed. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aDemand, aParkedRun, aRecord, aRunAtWork, aWaitFor, minute, noon, type Run, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";
import { anEnd } from "./undoing.ts";

describeSomePostgres(
  "among several waits",
  (database) => {
    const stage = stageOn(database);
    const callOf = async (name: "claim_turns" | "finish_turns", more: object, ...turns: object[]) =>
      (await stage.onlooker.call(name, { ...terms, ...more, turns })).turns;

    describe("an answer to a callback", () => {
      const aWait = (path: string, more: object = {}) => aDemand("callback", path, more);
      const answerOf = (run: Run, path: string, occurrence: number) =>
        stage.onlooker.call("answer_callback", {
          ...{ runId: run.id, epoch: 0, path, occurrence, armed: [noon + minute] },
          ...{ outcome: "resolved", value: `0"${path} ${occurrence}"` },
        });

      test("is told that it is over where the run has failed and is being undone", async () => {
        const run = await aRunAtWork(stage);
        await run.finish(stage.onlooker, anEnd());
        expect(await answerOf(run, "a", 1)).toEqual({ outcome: "over" });
        expect(await stage.look("select from layover.callback where run_id = $1", [run.id])).toEqual([]);
      });

      test("is none to another one, of another name, occurrence or run", async () => {
        const waits = [aWait("a"), aWait("b", { ordinal: 2 }), aWait("b", { ordinal: 3, occurrence: 2 })];
        const run = await aParkedRun(stage, waits);
        const other = await aParkedRun(stage, waits);
        for (const [one, path, occurrence] of [
          [run, "a", 1],
          [run, "b", 1],
          [run, "b", 2],
          [other, "b", 1],
        ] as const) {
          expect(await answerOf(one, path, occurrence)).toMatchObject({ outcome: "answered" });
        }
      });

      test("counts in time, though the time of another one is over", async () => {
        const short = { until: noon + minute };
        const other = await aParkedRun(stage, [aWait("b", { ...short, occurrence: 2 })]);
        const run = await aParkedRun(stage, [
          aWait("a", { ...short, occurrence: 2 }),
          aWait("b", { ...short, ordinal: 2 }),
          aWait("b", { ordinal: 3, occurrence: 2 }),
        ]);
        await stage.clock.advance(2 * minute);
        expect(await answerOf(other, "b", 2)).toEqual({ outcome: "expired" });
        expect(await run.answer(stage.onlooker, "b")).toEqual({ outcome: "expired" });
        expect(await answerOf(run, "b", 2)).toMatchObject({ outcome: "answered" });
      });

      test("sends nobody while a turn is under way, and none for what nobody waits for yet", async () => {
        const until = noon + 5 * minute;
        const run = await aParkedRun(stage, [aWait("a", { until })], { armed: [until] });
        const early = await run.answer(stage.onlooker, "b");
        expect(early).toMatchObject({ outcome: "answered", turn: null });
        expect(await run.state()).toMatchObject({ isReady: false, dueAt: until });
        await stage.clock.advance(5 * minute);
        expect(await run.claim(stage.onlooker, { token: "second", turn: 2 })).toMatchObject({ outcome: "claimed" });
        expect(await run.answer(stage.onlooker, "c")).toMatchObject({ outcome: "answered", turn: null });
        expect(await run.answer(stage.onlooker, "a")).toEqual({ outcome: "expired" });
      });

      test("that comes again tells of the turn that its run is ready for, in the very millisecond in which a sleep ends", async () => {
        const run = await aRunAtWork(stage);
        expect(await run.answer(stage.onlooker, "a")).toMatchObject({ outcome: "answered", turn: null });
        const sleep = aDemand("sleep", "nap", { until: noon + minute });
        await run.finish(stage.onlooker, { token: "first", demands: [sleep] });
        await stage.clock.set(noon + minute - 1);
        expect(await run.answer(stage.onlooker, "a")).toEqual({ outcome: "answered", turn: null });
        await stage.clock.set(noon + minute);
        expect(await run.answer(stage.onlooker, "a")).toEqual({ outcome: "answered", turn: 2 });
        expect(await run.claim(stage.onlooker, { token: "second", turn: 2 })).toMatchObject({ outcome: "claimed" });
      });

      test("that comes again sends nobody to a run that is paused", async () => {
        const run = await aParkedRun(stage, [aWait("a")]);
        expect(await run.answer(stage.onlooker, "a")).toMatchObject({ outcome: "answered", turn: 2 });
        await run.operate(stage.onlooker, "pause");
        expect(await run.answer(stage.onlooker, "a")).toEqual({ outcome: "answered", turn: null });
        await run.operate(stage.onlooker, "resume");
        expect(await run.answer(stage.onlooker, "a")).toEqual({ outcome: "answered", turn: 2 });
      });

      test("is too late once its wait has timed out, also where that is recorded among others that simply go on", async () => {
        const runs = [await aRunAtWork(stage), await aRunAtWork(stage)];
        const { value: _, ...timedOut } = aRecord("callback", "a");
        const turns = runs.map((run) => run.toFinish({ token: "first", next: "ready", records: [timedOut] }));
        expect(await callOf("finish_turns", {}, ...turns)).toMatchObject(turns.map(() => ({ outcome: "finished" })));
        for (const run of runs) expect(await run.answer(stage.onlooker, "a")).toEqual({ outcome: "expired" });
      });

      test("that it waits for sends nobody while a turn is under way: that turn finds it before it parks", async () => {
        const run = await aParkedRun(stage, [aWait("a"), aWaitFor("address", { ordinal: 2 })]);
        await run.signal(stage.onlooker, "address");
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        expect(await run.answer(stage.onlooker, "a")).toMatchObject({ outcome: "answered", turn: null });
        expect(await run.signal(stage.onlooker, "address")).toMatchObject({ outcome: "sent", turn: null });
        expect(await run.finish(stage.onlooker, { token: "second" })).toMatchObject({ isReady: true });
      });
    });
  },
  { perTest: true },
);
