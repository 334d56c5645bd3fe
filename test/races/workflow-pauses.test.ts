/** The pause of a workflow: which runs it holds, which of them its resume resumes, and starts that are under way meanwhile. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { OperateRunsAnswer, WorkflowAnswer } from "../../src/postgres/wire-operations.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRun, aStart, minute, noon, Run, second, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "the pause of a workflow",
  (database) => {
    const stage = stageOn(database);
    const workflow = "flow";
    const change =
      (verb: "pause" | "resume") =>
      (by: Session = stage.onlooker, more: object = {}): Promise<WorkflowAnswer> =>
        by.call(`${verb}_workflow`, {
          workflow,
          callId: randomUUID(),
          by: "ada",
          reason: "their API is down",
          ...more,
        });
    const [pause, resume] = [change("pause"), change("resume")];
    const page = (
      verb: "pause" | "resume",
      by: Session = stage.onlooker,
      more: object = {},
    ): Promise<OperateRunsAnswer> =>
      by.call("operate_runs", {
        verb,
        filter: { workflow },
        callId: "019b796d-d600-7000-8000-000000000001",
        limit: 100,
        walk: 100,
        holds: true,
        armed: [soon],
        ...more,
      });
    const start = async (by: Session = stage.onlooker, more: object = {}) => {
      const call = { ...aStart(), ...more };
      return { told: await by.call("start_run", call), run: new Run(stage, call.runId) };
    };
    const rowOf = async (run: Run) => {
      const [row] = await stage.look(
        `select paused_at is not null as paused, is_held as held, due_at is not null as due,
            layover.to_ms(timeout_at)::float8 as "timeoutAt" from layover.run_state where run_id = $1`,
        [run.id],
      );
      return row;
    };
    const held = { paused: true, held: true, due: false };
    const free = { paused: false, due: true };

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

    describe("and a start that is under way:", () => {
      test("it waits for the start, whose run the next page pauses", async () => {
        const [{ run }, told] = await stage.collide({
          first: (session) => start(session),
          second: (session) => pause(session),
        });
        expect(told).toMatchObject({ isCertain: true });
        expect(await rowOf(run)).toMatchObject(free);
        expect(await page("pause")).toMatchObject({ runs: 1 });
        expect(await rowOf(run)).toMatchObject(held);
      });

      test("a start that comes while it waits for its commit sees the pause", async () => {
        const [, { run }] = await stage.collide({
          first: (session) => pause(session),
          second: (session) => start(session),
        });
        expect(await rowOf(run)).toMatchObject(held);
      });

      test("a resume waits for the start, whose run the next page resumes", async () => {
        await pause();
        const [{ run }, told] = await stage.collide({
          first: (session) => start(session),
          second: (session) => resume(session),
        });
        expect(told).toMatchObject({ isCertain: true });
        expect(await rowOf(run)).toMatchObject(held);
        expect(await page("resume")).toMatchObject({ runs: 1 });
        expect(await rowOf(run)).toMatchObject(free);
      });

      test.each([
        ["pause", pause],
        ["resume", resume],
      ])("a %s does not wait long for one that stays open, and says that it may be missed", async (_, act) => {
        await pause();
        const session = await stage.session("long");
        await session.begin();
        await start(session);
        expect(await act()).toMatchObject({ isCertain: false });
        await session.commit();
        expect(await act()).toMatchObject({ isCertain: true });
      });
    });

    describe("and its schedules:", () => {
      const create = (name: string, more: object = {}, call: object = {}) =>
        stage.onlooker.call("create_schedule", {
          name,
          definition: { workflow, version: 1, everyMs: minute, startAt: noon, encodedInput: "0null", ...more },
          armed: [soon],
          ...call,
        });
      const fires = "select from layover.schedule where namespace = 'default' and name = $1 for update";
      const named = "select namespace || ' ' || name as name from layover.schedule";

      test.each([
        ["of a namespace", {}],
        ["as from psql, without one", { namespace: undefined }],
      ])("a resume %s waits for whoever fires one, by name, and has all of them looked at", async (_, more) => {
        for (const name of ["b", "a"]) await create(name);
        await create("aa", { workflow: "other" });
        await create("a", {}, { namespace: "elsewhere" });
        await create("paused");
        await stage.onlooker.call("pause_schedule", { name: "paused" });
        await pause();
        await stage.look("update layover.schedule set due_at = null"); // as whoever fires one meanwhile leaves it
        const [, told] = await stage.collide({
          first: (session) => session.query(fires, ["b"]),
          second: (session) => resume(session, { armed: [soon, noon + minute], ...more }),
          meanwhile: async () => {
            const free = await stage.look(`${named} order by 1 for update skip locked`);
            expect(free.map(({ name }) => name)).toEqual(["default aa", "default paused", "elsewhere a"]);
          },
        });
        expect(told).toMatchObject({ outcome: "resumed", isCertain: true });
        const due = await stage.look(`${named} where due_at is not null order by 1`);
        expect(due.map(({ name }) => name)).toEqual(["default a", "default b"]);
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

    test("is not resumed amid a page, but after it", async () => {
      const run = await aRun(stage);
      await pause();
      const session = await stage.session("page");
      await session.begin();
      await page("pause", session);
      const later = await stage.session("resume");
      const told = resume(later);
      await later.untilBlocked(session);
      await session.commit();
      expect(await told).toMatchObject({ outcome: "resumed" });
      expect(await page("resume")).toMatchObject({ runs: 1 });
      expect(await rowOf(run)).toMatchObject(free);
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
