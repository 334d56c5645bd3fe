/** A pause that comes while a turn starts runs: the pause of that run, or of the workflow of those that it starts. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild, startingOn } from "./invoking.ts";
import { pausesOn } from "./pausing.ts";
import { free, held, workflowPausesOn } from "./pausing-workflows.ts";
import { aRunAtWork, Run, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a turn that starts runs",
  (database) => {
    const stage = stageOn(database);
    const { made, records, waits, row } = startingOn(stage);
    const workflows = workflowPausesOn(stage);
    const { resume } = pausesOn(stage);

    /** Its turn under way starts a run that it waits for, and (unless `isOne`) another one that goes on alone. */
    async function aParent({ workflow = "flow", isOne = false } = {}) {
      const parent = await aRunAtWork(stage);
      const it = aChild("it", { workflow });
      const alone = aChild("alone", { workflow, ordinal: 2, isDetached: true });
      const children = isOne ? [it] : [it, alone];
      const start = (session: Session, token = "first") => parent.finish(session, { token, children });
      const runs = children.map(({ runId }) => new Run(stage, runId));
      return { parent, child: new Run(stage, it.runId), runs, ids: runs.map((run) => run.id).sort(), start };
    }

    describe("and the pause of its own run:", () => {
      test("the finish that waits for the pause starts none, and the first turn after the resume does", async () => {
        const { parent, ids, start } = await aParent();
        const [, told] = await stage.collide({
          first: (session) => parent.operate(session, "pause"),
          second: (session) => start(session),
        });
        expect(told).toMatchObject({ outcome: "finished", status: "parked", isReady: false });
        expect(told).not.toHaveProperty("hasStarted");
        expect([await made(parent), await waits(parent), await records(parent)]).toEqual([[], [], []]);
        expect(await row(parent, "children, due_at")).toEqual({ children: 0, due_at: null });
        expect(await resume(parent)).toMatchObject({ outcome: "resumed", turn: 2 });
        expect(await parent.claim(stage.onlooker, { turn: 2, token: "second" })).toMatchObject({ outcome: "claimed" });
        expect(await start(stage.onlooker, "second")).toMatchObject({ outcome: "finished", hasStarted: true });
        expect(await made(parent)).toEqual(ids);
      });

      test("the pause that waits for the finish leaves its run to go on, whose end waits for the resume", async () => {
        const { parent, child, ids, start } = await aParent({ isOne: true });
        const [, told] = await stage.collide({
          first: (session) => start(session),
          second: (session) => parent.operate(session, "pause"),
        });
        expect(told).toMatchObject({ outcome: "paused" });
        expect(await made(parent)).toEqual(ids);
        expect(await workflows.rowOf(child)).toMatchObject(free);
        expect(await child.claim(stage.onlooker, { token: "child" })).toMatchObject({ outcome: "claimed" });
        const ended = await child.finish(stage.onlooker, { token: "child", next: "completed", value: '0"done"' });
        expect(ended).toMatchObject({ outcome: "finished", others: [] });
        expect(await waits(parent)).toMatchObject([{ path: "it", child_status: "completed" }]);
        expect(await parent.claim(stage.onlooker, { turn: 2, token: "second" })).toEqual({ outcome: "paused" });
        expect(await parent.state()).toMatchObject({ dueAt: null });
        expect(await resume(parent)).toMatchObject({ outcome: "resumed", turn: 2 });
        expect(await parent.claim(stage.onlooker, { turn: 2, token: "second" })).toMatchObject({
          outcome: "claimed",
          children: { ends: [{ path: "it", value: '0"done"' }] },
        });
      });
    });

    describe("and the workflow of these:", () => {
      const other = { workflow: "other" };
      const pause = (session: Session = stage.onlooker) => workflows.pause(session, other);
      const resumeAll = (session: Session = stage.onlooker) => workflows.resume(session, { ...other, armed: [soon] });
      const page = (verb: "pause" | "resume") => workflows.page(verb, stage.onlooker, { filter: other });

      test("the finish that waits for its pause starts runs that are held until it is resumed", async () => {
        const { parent, runs, ids, start } = await aParent(other);
        const [, told] = await stage.collide({
          first: (session) => pause(session),
          second: (session) => start(session),
        });
        expect(told).toMatchObject({ outcome: "finished", hasStarted: true });
        expect(await made(parent)).toEqual(ids);
        for (const run of runs) {
          expect(await workflows.rowOf(run)).toMatchObject(held);
          expect(await run.claim(stage.onlooker, { token: "child" })).toEqual({ outcome: "paused" });
        }
        expect(await workflows.rowOf(parent)).toMatchObject({ paused: false });
        await resumeAll();
        expect(await page("resume")).toMatchObject({ runs: 2 });
        for (const run of runs) expect(await workflows.rowOf(run)).toMatchObject(free);
      });

      test("its pause waits for the finish, whose runs the next page pauses", async () => {
        const { parent, runs, start } = await aParent(other);
        const [, told] = await stage.collide({
          first: (session) => start(session),
          second: (session) => pause(session),
        });
        expect(told).toMatchObject({ outcome: "paused", isCertain: true });
        for (const run of runs) expect(await workflows.rowOf(run)).toMatchObject(free);
        expect(await page("pause")).toMatchObject({ runs: 2 });
        for (const run of runs) expect(await workflows.rowOf(run)).toMatchObject(held);
        expect(await workflows.rowOf(parent)).toMatchObject({ paused: false });
      });

      test("the finish that waits for its resume starts runs that are not held", async () => {
        const { runs, start } = await aParent(other);
        await pause();
        await stage.collide({ first: (session) => resumeAll(session), second: (session) => start(session) });
        for (const run of runs) expect(await workflows.rowOf(run)).toMatchObject({ ...free, held: false });
      });

      test("its resume waits for the finish, whose runs the next page resumes", async () => {
        const { runs, start } = await aParent(other);
        await pause();
        const [, told] = await stage.collide({
          first: (session) => start(session),
          second: (session) => resumeAll(session),
        });
        expect(told).toMatchObject({ outcome: "resumed", isCertain: true });
        for (const run of runs) expect(await workflows.rowOf(run)).toMatchObject(held);
        expect(await page("resume")).toMatchObject({ runs: 2 });
        for (const run of runs) expect(await workflows.rowOf(run)).toMatchObject(free);
      });
    });
  },
  { perTest: true },
);
