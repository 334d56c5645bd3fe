/** A run that this deployment has refused: the scheduler leaves it to another one, and blocks it where there is none. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { noteOn } from "./deploying.ts";
import { rowsOn } from "./rows.ts";
import { aParkedRun, aRun, aRunAtWork, at, branches, minute, noon, type Run, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

const hour = 60 * minute;

describeSomePostgres(
  "a run that this deployment has refused",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "due may be early, never late (by more than two minutes)",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
      ],
    });
    const { set, setWaits } = rowsOn(stage);
    const refused = `refused_by = '{"green": {"at": ${noon + 1}, "why": "no such step"}}'`;
    const note = (deployment: string) => noteOn(stage)(deployment, deployment);
    const move = (run: Run, more: object = {}) => {
      const one = { runId: run.id, seenDueAt: soon, dueAt: noon + hour, isDispatched: true, branches: [], ...more };
      return stage.onlooker.call("move_due", { moves: [one], deployment: "green" });
    };
    const rest = { blocked: "no such step", dueAt: null };
    const moved = { blocked: null, dueAt: noon + hour };
    const leased = "token = gen_random_uuid(), leased_until = layover.now() + interval '3 hours'";

    test("is blocked where no other one may take it, and no other run is", async () => {
      const [run, other] = [await aRun(stage), await aRun(stage)];
      await note("green");
      for (const one of [run, other]) await set(one, refused);
      expect(await move(run)).toMatchObject({ moved: 0, left: 0 });
      expect(await run.state()).toMatchObject(rest);
      expect(await other.state()).toMatchObject({ blocked: null, dueAt: soon });
    });

    test("stays blocked for the reason of its block", async () => {
      const run = await aRun(stage);
      await note("green");
      await set(run, `${refused}, blocked = 'it was always so', due_at = null`);
      await move(run, { seenDueAt: null });
      expect(await run.state()).toMatchObject({ blocked: "it was always so", dueAt: null });
    });

    test("is moved, and its dispatch not counted, where another one may take it", async () => {
      const run = await aParkedRun(stage, branches(["a"]));
      for (const deployment of ["green", "blue"]) await note(deployment);
      await set(run, `${refused}, ready_at = 'epoch'`);
      expect(await move(run, { branches: [at("a")] })).toMatchObject({ moved: 1 });
      expect(await run.state()).toMatchObject({ ...moved, dispatches: 0 });
      expect(await run.pending()).toMatchObject({ a: { dispatches: 0 } });
    });

    test("is moved while its turn is at work", async () => {
      const run = await aRunAtWork(stage);
      await note("green");
      await set(run, `${refused}, leased_until = layover.now() + interval '3 hours'`);
      await move(run, { isDispatched: false });
      expect(await run.state()).toMatchObject(moved);
    });

    describe("that has a branch", () => {
      const aRefusedRun = async (own: string, others: string) => {
        const [run, other] = [await aParkedRun(stage, branches(["a"])), await aParkedRun(stage, branches(["a"]))];
        await note("green");
        await setWaits(run, own);
        await setWaits(other, others);
        await set(run, refused);
        await move(run, { isDispatched: false, branches: [at("a")] });
        return await run.state();
      };

      test("is moved while that is at work", async () => {
        expect(await aRefusedRun(leased, "lost = 0")).toMatchObject(moved);
      });

      test("is blocked where nobody is at work on that, whatever another run does", async () => {
        expect(await aRefusedRun("lost = 0", leased)).toMatchObject(rest);
      });
    });

    test("counts as never dispatched, and so do its branches", async () => {
      const run = await aParkedRun(stage, branches(["a"]));
      await set(run, `${refused}, dispatches = 3, due_at = layover.now()`);
      await setWaits(run, "dispatches = 3");
      const look = async (deployment: string) =>
        (await stage.onlooker.call("list_due", { ...terms, limit: 10, withinMs: 0, deployment })).runs;
      expect(await look("green")).toMatchObject([{ dispatches: 0, branches: [{ dispatches: 0 }] }]);
      expect(await look("blue")).toMatchObject([{ dispatches: 3, branches: [{ dispatches: 3 }] }]);
    });
  },
  { perTest: true },
);
