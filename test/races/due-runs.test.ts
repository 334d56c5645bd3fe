/** What the scheduler is told of each run that is due: what may be claimed of it, and when to look again. */
import { describe, expect, test } from "vitest";
import type { DueRun } from "../../src/postgres/wire-scheduler.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { rowsOn } from "./rows.ts";
import {
  aFanOut,
  aMap,
  aParkedRun,
  aRun,
  aRunAtWork,
  aStart,
  aWaitFor,
  branches,
  minute,
  noon,
  only,
  type Run,
  second,
  soon,
  terms,
} from "./runs.ts";
import { stageOn } from "./stage.ts";

const idOf = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;

describeSomePostgres(
  "of runs that are due, the scheduler",
  (database) => {
    const stage = stageOn(database, { breaks: ["due may be early, never late (by more than two minutes)"] });
    const list = async (more: object = {}): Promise<readonly DueRun[]> =>
      (await stage.onlooker.call("list_due", { ...terms, limit: 10, withinMs: 0, ...more })).runs;
    const numbers = (runs: readonly DueRun[]) => runs.map(({ runId }) => Number(runId.at(-1)));
    const { set } = rowsOn(stage);
    const setBranch = (run: Run, path: string, assignments: string) =>
      stage.onlooker.query(`update layover.pending set ${assignments} where run_id = $1 and path = $2`, [run.id, path]);
    const ids = async (more: object = {}) => (await list(more)).map(({ runId }) => runId).toSorted();

    test("is shown a branch at the instant at which it is ready", async () => {
      const run = await aParkedRun(stage, branches(["a"]));
      await setBranch(run, "a", "ready_at = layover.now()");
      await set(run, "due_at = layover.now()");
      expect(await list()).toMatchObject([{ runId: run.id, branches: [{ path: "a" }] }]);
    });

    test("is told of the signals that are kept: of the first that is due later, and of none that is due where there is none", async () => {
      await aRun(stage);
      await stage.onlooker.query("update layover.run_state set due_at = null, paused_at = layover.now()");
      const look = () => stage.onlooker.call("list_due", { ...terms, limit: 10, withinMs: 0 });
      for (const minutes of [2, 3])
        await stage.onlooker.query(
          `insert into layover.kept_signal (namespace, workflow, user_id, id, webhook, delivery, name, payload, kept_at, due_at, expires_at)
             values ('default', 'flow', 'a', gen_random_uuid(), 'shop', 'one', 'go', '0null', layover.now(), layover.from_ms($1), layover.from_ms($2))`,
          [noon + minutes * minute, noon + 60 * minute],
        );
      expect(await look()).toMatchObject({ nextDueAt: noon + 2 * minute, kept: null });
      await stage.clock.set(noon + 2 * minute);
      expect(await look()).toMatchObject({ nextDueAt: noon + 3 * minute, kept: { expiresAt: noon + 60 * minute } });
    });

    test.each([true, false])("is shown those of the versions that it carries (is it new: %s)", async (isNew) => {
      const own = await aRun(stage);
      const blocked = await aRun(stage);
      await set(blocked, "blocked = 'by other code', due_at = null");
      for (const more of [{ version: 2 }, { workflow: "other" }]) {
        for (const assignments of ["turn = turn", "blocked = 'by other code', due_at = null"]) {
          const start = { ...aStart(), ...more };
          await stage.onlooker.call("start_run", start);
          await stage.look(`update layover.run_state set ${assignments} where run_id = $1`, [start.runId]);
        }
      }
      await stage.clock.set(soon);
      const shown = isNew ? [own.id, blocked.id] : [own.id];
      expect(await ids({ isNew })).toEqual(shown.toSorted());
    });

    test("is shown those that are due first, the blocked ones last, and no more than it asked for", async () => {
      for (const [n, ms] of [
        [1, 3],
        [2, 1],
        [3, 1],
        [4, 2],
      ] as const) {
        const run = await aRun(stage, { runId: idOf(n) });
        await stage.onlooker.query("update layover.run_state set due_at = $2 where run_id = $1", [
          run.id,
          new Date(noon + ms),
        ]);
      }
      for (const n of [5, 6, 7])
        await set(await aRun(stage, { runId: idOf(n) }), "blocked = 'by other code', due_at = null");
      expect(numbers(await list({ isNew: true }))).toEqual([2, 3, 4, 1, 5, 6, 7]);
      for (const limit of [1, 2, 3, 5]) {
        const seen: DueRun[] = [];
        for (let page = await list({ isNew: true, limit }); page.length > 0 && seen.length < 20; ) {
          expect(page.length).toBeLessThanOrEqual(limit);
          seen.push(...page);
          const { dueAt, runId } = page.at(-1) ?? only(page);
          page = await list({ isNew: true, limit, after: { dueAt, runId } });
        }
        expect(numbers(seen)).toEqual([2, 3, 4, 1, 5, 6, 7]);
      }
    });

    test("is shown what is due within its time, to the millisecond", async () => {
      const run = await aParkedRun(stage, [aWaitFor("address", { until: noon + 3 * minute })]);
      await set(run, "due_at = layover.now() + interval '5 seconds'");
      expect(await ids({ isNew: true, withinMs: 5 * second - 1 })).toEqual([]);
      expect(await ids({ isNew: true, withinMs: 5 * second })).toEqual([run.id]);
      expect(await ids({ isNew: false, withinMs: 5 * second })).toEqual([run.id]);
      await stage.clock.advance(5 * second);
      for (const withinMs of [0, undefined]) expect(await ids({ isNew: true, withinMs })).toEqual([run.id]);
    });

    test("is shown what is ready and due by the instant to which a clock has yet to come that was set back", async () => {
      const ready = await aRun(stage);
      const asleep = await aParkedRun(stage, [aWaitFor("address", { until: noon + 3 * minute })]);
      const blocked = await aRun(stage);
      const due = noon + 5 * minute;
      for (const run of [ready, asleep, blocked]) await set(run, `due_at = layover.from_ms(${due})`);
      await set(blocked, "blocked = 'by other code'");
      await aFanOut(stage, ["a"]);
      const fanned = await aParkedRun(stage, branches(["a"]));
      await set(fanned, `due_at = layover.from_ms(${due})`);
      expect(await ids({ isNew: false, readyUntil: due - 1 })).toEqual([]);
      expect(await ids({ isNew: false, readyUntil: due })).toEqual([ready.id, fanned.id].toSorted());
      expect(await ids({ isNew: false })).toEqual([]);
    });

    test("of a new deployment is shown a run whose branch is ready, and not the one beside it", async () => {
      await aFanOut(stage, ["a"]);
      const run = await aParkedRun(stage, branches(["a"]));
      expect(await ids({ isNew: true, withinMs: undefined })).toEqual([run.id]);
    });

    describe("is told", () => {
      test("that a run is not ready which waits for a signal", async () => {
        const run = await aParkedRun(stage, [aWaitFor("address")]);
        await set(run, "due_at = layover.now()");
        expect(only(await list())).toMatchObject({ isReady: false, isUnfinished: false, nextAt: null, branches: null });
      });

      test("to look again at the end of its lease, or at its timeout, whichever is first", async () => {
        const run = await aRunAtWork(stage, { timeoutMs: 3 * minute });
        await set(run, "due_at = layover.now()");
        expect(only(await list())).toMatchObject({ isReady: false, isUnfinished: true, nextAt: noon + minute });
        await set(run, "leased_until = layover.now() + interval '4 minutes'");
        expect(only(await list())).toMatchObject({ isReady: false, nextAt: noon + 3 * minute });
      });

      test("of no timeout that is there already", async () => {
        const run = await aRunAtWork(stage, { timeoutMs: minute });
        await run.finish(stage.onlooker, { token: "first", demands: [aWaitFor("address")] });
        await stage.clock.set(noon + minute);
        expect(only(await list())).toMatchObject({ isReady: true, nextAt: null });
      });

      test("of the branches that are ready, in their order, and when the first of the others is", async () => {
        const run = await aParkedRun(stage, branches(["e", "d", "c", "b", "a"]));
        for (const path of ["d", "b"]) await run.claimBranch(stage.onlooker, path, { token: path });
        await setBranch(run, "d", "leased_until = layover.now() + interval '5 minutes'");
        await setBranch(run, "c", "ready_at = layover.now() + interval '2 minutes'");
        await set(run, "due_at = layover.now()");
        const due = only(await list());
        expect(due).toMatchObject({ nextAt: noon + minute, branches: [{ path: "e" }, { path: "a" }] });
        await setBranch(run, "b", "leased_until = layover.now() + interval '6 minutes'");
        expect(only(await list())).toMatchObject({ nextAt: noon + 2 * minute });
      });

      test("of no branch that is recorded, or queues", async () => {
        const run = await aMap(stage, ["a", "b", "c", "d"], { slots: 2 });
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await set(run, "due_at = layover.now()");
        expect(only(await list())).toMatchObject({ nextAt: noon + minute, branches: [{ path: "c" }] });
      });
    });

    test.each([{ environment: "other" }, { endpoint: "elsewhere" }])(
      "is new where nobody noted it but a deployment of another database: %o",
      async (other) => {
        await stage.onlooker.call("adopt_environment", terms);
        const deployed = { ...terms, namespace: "default", deployment: "green" };
        const note = (more: object) =>
          stage.onlooker.query("select layover.note_deployment($1)", [JSON.stringify({ ...deployed, ...more })]);
        const isNew = async () => (await stage.onlooker.call("list_due", { ...deployed, limit: 10 })).isNew;
        await note(other);
        expect(await isNew()).toBe(true);
        await note({});
        expect(await isNew()).toBe(false);
      },
    );

    test("is told when to come back: at the next of its namespace, behind now", async () => {
      const next = async (more: object = {}) =>
        (await stage.onlooker.call("list_due", { ...terms, limit: 10, ...more })).nextDueAt;
      expect(await next()).toBeNull();
      await aRun(stage);
      await set(await aRun(stage), "due_at = layover.now() + interval '30 seconds', namespace = 'elsewhere'");
      expect(await next()).toBe(soon);
      await stage.clock.set(soon);
      expect(await next()).toBeNull();
      await aRun(stage);
      await set(await aRun(stage), "due_at = layover.now() + interval '3 minutes'");
      await set(await aRun(stage), "due_at = layover.now() + interval '2 minutes'");
      expect(await next()).toBe(soon + 2 * minute);
    });
  },
  { perTest: true },
);
