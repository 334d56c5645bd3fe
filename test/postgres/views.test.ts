/** A run that is looked at shows its mail, its troubles and when it is ready; once it is over, it shows none of its troubles. */
import { describe, expect, test } from "vitest";
import { aParkedRun, aRun, aWaitFor, branches, noon, type Run, second } from "../races/runs.ts";
import { stageOn } from "../races/stage.ts";
import { describeSomePostgres } from "./database.ts";

describeSomePostgres(
  "a run that is looked at",
  (database) => {
    const stage = stageOn(database);
    /** Looks at it as it would be with these changes, which do not stay. */
    const lookAt = async (run: Run, ...changes: readonly string[]) => {
      const session = await stage.session("changed");
      await session.begin();
      for (const change of changes) await session.query(change);
      const told = await session.call("get_run", { runId: run.id });
      await session.rollback();
      return told;
    };
    const set = (assignments: string) => `update layover.run_state set ${assignments}`;

    test("has the mail that nobody has taken, counted by name, and a list has none of that", async () => {
      const run = await aParkedRun(stage, [aWaitFor("stop")]);
      for (const name of ["b", "a", "taken", "a"]) await run.signal(stage.onlooker, name);
      const told = await lookAt(run, "update layover.signal set position = 1 where name = 'taken'");
      const untaken = "untaken" in told ? told.untaken : undefined;
      expect(Object.entries(untaken ?? {})).toEqual([
        ["a", 2],
        ["b", 1],
      ]);
      expect(await stage.onlooker.call("list_runs", { limit: 10 })).toMatchObject({ runs: [{ untaken: null }] });
    });

    test("has who has refused it, the first one first, until it is over", async () => {
      const run = await aRun(stage);
      const refusals = `refused_by = '{"c": {"at": 1, "why": "no"}, "a": {"at": 2, "why": "no"}, "b": {"at": 1, "why": "no"}}'`;
      expect(await lookAt(run, set(refusals))).toMatchObject({
        refusedBy: [{ deployment: "b" }, { deployment: "c" }, { deployment: "a" }],
      });
      await run.operate(stage.onlooker, "terminate");
      expect(await lookAt(run, set(refusals))).toMatchObject({ refusedBy: null });
    });

    test("has what set it back, unless it is blocked or over", async () => {
      const run = await aRun(stage);
      const setback = `insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until)
        select run_id, '', 1, turn, 'slow', 1, layover.now(), layover.now() from layover.run_state`;
      expect(await lookAt(run, setback)).toMatchObject({ setback: { reason: "slow" } });
      const blocked = set("blocked = 'by other code', due_at = null");
      expect(await lookAt(run, setback, blocked)).toMatchObject({ blocked: "by other code", setback: null });
      await run.operate(stage.onlooker, "terminate");
      expect(await lookAt(run, setback)).toMatchObject({ setback: null });
    });

    describe("is set back", () => {
      const row = (run: Run, path: string, more: { turn?: number; occurrence?: number; until?: number } = {}) => {
        const { turn = 1, occurrence = 1, until = 10 } = more;
        return `insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until)
          values ('${run.id}', '${path}', ${occurrence}, ${turn}, '${path || "itself"} #${occurrence}', 1, layover.now(),
            layover.now() + interval '${until} seconds')`;
      };
      const told = async (run: Run, ...changes: readonly string[]) => {
        const view = await lookAt(run, ...changes);
        return "setback" in view ? view.setback?.reason : view;
      };

      test("by its own turn of now", async () => {
        const run = await aRun(stage);
        expect(await told(run, row(run, ""))).toBe("itself #1");
        expect(await told(run, row(run, "", { turn: 2 }))).toBeUndefined();
        expect(await told(run, row(await aRun(stage), ""))).toBeUndefined();
      });

      test("not by a branch that has gone on, whose turn of then has the number that the run's has now", async () => {
        const run = await aParkedRun(stage, branches(["a"]));
        expect(await run.state()).toMatchObject({ turn: 2 });
        expect(await told(run, row(run, "a", { turn: 2 }))).toBeUndefined();
      });

      test.each([
        ["that is there", "turn = 1", "a #1"],
        ["that is through", "position = 1", undefined],
        ["that has lost its race", "is_released = true", undefined],
        ["that was a step between its attempts", "kind = 'retry', ready_at = layover.now()", undefined],
        ["that has gone on", "turn = 2", undefined],
        ["of another occurrence", "occurrence = 2", undefined],
        ["of another place", "path = 'c'", undefined],
        ["of another run", "run_id = gen_random_uuid()", undefined],
      ])("by a branch %s", async (_, assignments, reason) => {
        const run = await aParkedRun(stage, branches(["a"]));
        expect(await told(run, row(run, "a"), `update layover.pending set ${assignments}`)).toBe(reason);
      });

      test("by itself ahead of its branches, and by the branch that is tried again first", async () => {
        const run = await aParkedRun(stage, branches(["a", "b"]));
        const second =
          "insert into layover.pending select (jsonb_populate_record(b, '{\"occurrence\": 2}')).* from layover.pending b";
        const [late, early] = [row(run, "a", { until: 20 }), row(run, "b")];
        expect(await told(run, late, early, row(run, "", { turn: 2, until: 30 }))).toBe("itself #1");
        expect(await told(run, late, early)).toBe("b #1");
        expect(await told(run, row(run, "b"), row(run, "a"))).toBe("a #1");
        expect(await told(run, second, row(run, "a", { occurrence: 2 }), row(run, "a"))).toBe("a #1");
      });
    });

    test("is ready when the first of its own branches is that nobody holds and that is not through", async () => {
      const run = await aParkedRun(stage, branches(["through", "held", "early", "late"]));
      await aParkedRun(stage, branches(["of another"]));
      const readyAt = (path: string, seconds: number, more = "") =>
        `update layover.pending set ready_at = layover.now() + interval '${seconds} seconds' ${more} where path = '${path}'`;
      const branchesReady = [
        readyAt("through", 1, ", position = 1"),
        readyAt("held", 2, ", token = gen_random_uuid(), leased_until = layover.now()"),
        ...[readyAt("of another", 3), readyAt("early", 10), readyAt("late", 20)],
      ];
      expect(await lookAt(run, ...branchesReady)).toMatchObject({ readyAt: noon + 10 * second });
      const itself = (seconds: number) => set(`ready_at = layover.now() + interval '${seconds} seconds'`);
      expect(await lookAt(run, ...branchesReady, itself(5))).toMatchObject({ readyAt: noon + 5 * second });
      expect(await lookAt(run, ...branchesReady, itself(15))).toMatchObject({ readyAt: noon + 10 * second });
      await run.operate(stage.onlooker, "terminate");
      const stillThere = `insert into layover.pending (run_id, path, occurrence, kind, demanded_after, ordinal, ready_at)
        values ('${run.id}', 'late', 1, 'branch', 0, 1, layover.now())`;
      expect(await lookAt(run, stillThere, set("has_pending = true"))).toMatchObject({ readyAt: null });
    });

    test("is paused, and held with its workflow, until it is over", async () => {
      const run = await aRun(stage);
      const paused = set("paused_at = layover.now(), is_held = true, due_at = null");
      expect(await lookAt(run, paused)).toMatchObject({ pausedAt: noon, isHeld: true });
      await run.operate(stage.onlooker, "terminate");
      expect(await lookAt(run, paused)).toMatchObject({ pausedAt: null, isHeld: false });
    });
  },
  { perTest: true },
);
