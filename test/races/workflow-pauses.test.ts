/** The pause of a workflow: which runs it holds, which of them its resume resumes, and what comes again or too late. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { free, held, workflow, workflowPausesOn } from "./pausing-workflows.ts";
import { aRun, minute, noon, second } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the pause of a workflow",
  (database) => {
    const stage = stageOn(database);
    const { pause, resume, page, start, rowOf } = workflowPausesOn(stage);

    test("holds no runs of another workflow or namespace, and those of the default one where none is named", async () => {
      const run = await aRun(stage);
      const other = (await start(stage.onlooker, { namespace: "other" })).run;
      await start(stage.onlooker, { workflow: "other" });
      await pause();
      expect(await page("pause", stage.onlooker, { namespace: "other" })).toMatchObject({ runs: 0 });
      expect(await page("pause", stage.onlooker, { filter: { workflow: "other" } })).toMatchObject({ runs: 0 });
      expect(await page("pause", stage.onlooker, { namespace: undefined })).toMatchObject({ runs: 1 });
      expect([await rowOf(run), await rowOf(other)]).toMatchObject([held, free]);
    });

    test("holds runs that are started meanwhile, and others that were there, until it is resumed", async () => {
      const before = await aRun(stage);
      expect(await pause()).toMatchObject({ outcome: "paused", isCertain: true });
      const { told, run } = await start();
      expect(told).toMatchObject({ outcome: "started", turn: null });
      expect(await rowOf(run)).toMatchObject(held);
      expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ outcome: "paused" });
      expect(await rowOf(before)).toMatchObject(free);
      expect(await page("pause")).toMatchObject({ runs: 1, outcomes: { paused: 1 } });
      expect(await rowOf(before)).toMatchObject(held);
      expect(await resume()).toMatchObject({ outcome: "resumed", isCertain: true });
      expect(await rowOf(run)).toMatchObject(held);
      const { outcomes, turns } = await page("resume");
      expect([outcomes, turns]).toEqual([{ resumed: 2 }, expect.arrayContaining([{ runId: run.id, turn: 1 }])]);
      expect([await rowOf(run), await rowOf(before)]).toMatchObject([free, free]);
      expect((await start()).told).toMatchObject({ turn: 1 });
    });

    test("holds no run of another workflow, and none of another namespace", async () => {
      await pause();
      expect(await rowOf((await start(stage.onlooker, { workflow: "other" })).run)).toMatchObject(free);
      expect(await rowOf((await start(stage.onlooker, { namespace: "other" })).run)).toMatchObject(free);
    });

    test("moves the timeout of a held run by as long as it was held", async () => {
      await pause();
      const { run } = await start(stage.onlooker, { timeoutMs: minute });
      await stage.clock.set(noon + 10 * second);
      await resume();
      await page("resume");
      expect(await rowOf(run)).toMatchObject({ timeoutAt: noon + minute + 10 * second });
    });

    describe("and its resume leave alone", () => {
      test("what a person has paused before", async () => {
        const run = await aRun(stage);
        await run.operate(stage.onlooker, "pause");
        await pause();
        expect(await page("pause")).toMatchObject({ runs: 0 });
        await resume();
        expect(await page("resume")).toMatchObject({ runs: 0 });
        expect(await rowOf(run)).toMatchObject({ paused: true, held: false });
      });

      test("what a person pauses while it is held", async () => {
        await pause();
        const { run } = await start();
        await run.operate(stage.onlooker, "pause");
        await resume();
        expect(await page("resume")).toMatchObject({ runs: 0 });
        expect(await rowOf(run)).toMatchObject({ paused: true, held: false });
      });

      test("what a person has resumed by itself", async () => {
        await pause();
        const { run } = await start();
        expect(await run.operate(stage.onlooker, "resume")).toMatchObject({ outcome: "resumed" });
        await resume();
        expect(await page("resume")).toMatchObject({ runs: 0 });
        expect(await rowOf(run)).toMatchObject(free);
      });

      test("a run that a person pauses between the look at the page and its turn", async () => {
        await pause();
        const { run } = await start();
        await resume();
        const [, told] = await stage.collide({
          first: (session) => run.operate(session, "pause"),
          second: (session) => page("resume", session),
        });
        expect(told).toMatchObject({ refused: [{ code: "not_applicable", runs: 1 }] });
        expect(await rowOf(run)).toMatchObject({ paused: true, held: false });
      });
    });

    describe("that comes again", () => {
      const callId = randomUUID();

      test("does nothing, also when the workflow was resumed meanwhile", async () => {
        await pause(stage.onlooker, { callId });
        expect(await pause(stage.onlooker, { callId })).toMatchObject({ outcome: "paused", callId });
        await resume();
        expect(await pause(stage.onlooker, { callId })).toMatchObject({ outcome: "resumed" });
        expect(await rowOf((await start()).run)).toMatchObject(free);
      });

      test("under another id stands under the first one", async () => {
        await pause(stage.onlooker, { callId });
        expect(await pause()).toMatchObject({ outcome: "paused", callId });
        const run = await aRun(stage, { runId: randomUUID() });
        await run.operate(stage.onlooker, "resume");
        await page("pause");
        const [row] = await stage.look("select call_id from layover.operation where run_id = $1 and verb = 'pause'", [
          run.id,
        ]);
        expect(row).toEqual({ call_id: callId });
      });

      test("as a resume does nothing, also when the workflow was paused again meanwhile", async () => {
        await pause();
        await resume(stage.onlooker, { callId });
        await pause();
        expect(await resume(stage.onlooker, { callId })).toMatchObject({ outcome: "paused" });
        expect(await rowOf((await start()).run)).toMatchObject(held);
      });
    });

    test("cannot be resumed where it was never paused", async () => {
      expect(await resume()).toEqual({ outcome: "not_applicable" });
    });

    test("pauses no further run once it is resumed, and resumes none once it is paused again", async () => {
      const run = await aRun(stage);
      await pause();
      await resume();
      expect(await page("pause")).toMatchObject({ runs: 0, next: null });
      expect(await rowOf(run)).toMatchObject(free);
      await pause();
      await page("pause");
      expect(await page("resume")).toMatchObject({ runs: 0, next: null });
      expect(await rowOf(run)).toMatchObject(held);
    });

    test("is seen of the run, and of the namespace", async () => {
      await pause();
      const { run } = await start();
      expect(await stage.onlooker.call("get_run", { runId: run.id })).toMatchObject({ status: "paused", isHeld: true });
      const ask = async () => {
        const [row] = await stage.onlooker.query(
          `select layover.diagnose('{"namespace": "default"}')->'pausedWorkflows' as p`,
        );
        return row?.["p"];
      };
      expect(await ask()).toEqual([{ workflow, since: noon, by: "ada", reason: "their API is down" }]);
      await run.operate(stage.onlooker, "resume");
      expect(await stage.onlooker.call("get_run", { runId: run.id })).toMatchObject({ isHeld: false });
      await resume();
      expect(await ask()).toEqual([]);
    });

    test("has no effect where it comes too late", async () => {
      const late = { notAfter: noon - 1 };
      await expect(pause(stage.onlooker, late)).rejects.toMatchObject({ code: "LO002" });
      await pause();
      await expect(resume(stage.onlooker, late)).rejects.toMatchObject({ code: "LO002" });
      expect(await rowOf((await start()).run)).toMatchObject(held);
    });

    test("needs a workflow", async () => {
      await expect(pause(stage.onlooker, { workflow: null })).rejects.toMatchObject({ code: "LO003" });
    });
  },
  { perTest: true },
);
