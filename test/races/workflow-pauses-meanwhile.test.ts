/** The pause and the resume of a workflow, and what is under way meanwhile: starts, firings, and a page of runs. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { free, held, workflow, workflowPausesOn } from "./pausing-workflows.ts";
import { aRun, minute, noon, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the pause of a workflow",
  (database) => {
    const stage = stageOn(database);
    const { pause, resume, page, start, rowOf } = workflowPausesOn(stage);

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
  },
  { perTest: true },
);
