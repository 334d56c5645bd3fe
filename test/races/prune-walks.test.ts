/** How far the walk over runs that are over has come, and what it writes down of that: so no run is looked at at every tick, and none is missed. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRun, minute, noon, type Run, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

const day = 24 * 60 * minute;

describeSomePostgres(
  "the walk of a prune",
  (database) => {
    const stage = stageOn(database);
    const keep = { keepMs: minute, keepFailedMs: minute };
    const prune = (more: object = {}) => stage.onlooker.call("prune_runs", { limit: 10, ...keep, ...more });
    const ends = (run: Run, at: number, status = "completed") =>
      stage.onlooker.query(
        `update layover.run_state set status = $3, result = $4, error = $5, ready_at = null, due_at = null, ended_at = layover.from_ms($2)
          where run_id = $1`,
        [run.id, at, status, status === "completed" ? "0null" : null, status === "completed" ? null : "0null"],
      );
    const anEnd = async (at: number, status?: string) => {
      const run = await aRun(stage);
      await ends(run, at, status);
      return run;
    };
    const walks = async () =>
      await stage.look(
        `select namespace, keep_ms::float8 as keep, layover.to_ms(pruned_until)::float8 as until, layover.to_ms(began_at)::float8 as began
           from layover.pruning order by namespace, keep_ms, rules`,
      );
    const left = async () =>
      (
        await stage.look(
          "select layover.to_ms(ended_at)::float8 as at from layover.run_state where ended_at is not null order by 1",
        )
      ).map(({ at }) => at);
    const hours = (count: number) => noon - count * 60 * minute;

    test("is written down: how far it came, but for the last ten minutes, and when it began", async () => {
      await anEnd(hours(2));
      await anEnd(noon - 5 * minute);
      expect(await prune()).toEqual({ pruned: 2, isMore: false });
      expect(await walks()).toEqual([{ namespace: "default", keep: minute, until: noon - 10 * minute, began: noon }]);
      await stage.clock.advance(minute);
      await anEnd(noon - 9 * minute);
      expect(await prune()).toEqual({ pruned: 1, isMore: false });
      expect(await walks()).toMatchObject([{ until: noon - 9 * minute, began: noon }]);
    });

    test("does not look again at what it has passed, until thirty days are over", async () => {
      await anEnd(hours(1));
      await prune();
      await anEnd(hours(2));
      expect(await prune()).toMatchObject({ pruned: 0 });
      await stage.clock.set(noon + 30 * day);
      expect(await prune()).toMatchObject({ pruned: 0 });
      await stage.clock.advance(1);
      expect(await prune()).toMatchObject({ pruned: 1 });
      expect(await walks()).toMatchObject([{ until: hours(2), began: noon + 30 * day + 1 }]);
    });

    test("begins again where it is ahead of the clock, or of what may be deleted", async () => {
      await anEnd(hours(1));
      await prune();
      for (const [column, at] of [
        ["began_at", noon + 1],
        ["pruned_until", noon - minute + 1],
      ] as const) {
        await stage.onlooker.query(`update layover.pruning set ${column} = layover.from_ms($1)`, [at]);
        await anEnd(hours(3));
        expect(await prune()).toMatchObject({ pruned: 1 });
        expect(await walks()).toMatchObject([{ began: noon }]);
      }
    });

    test("is one for each namespace, each time that runs are kept, and each rule", async () => {
      await anEnd(hours(1));
      const walked = { until: hours(1), began: noon };
      await prune();
      await anEnd(hours(5), "failed");
      await prune({ namespace: "other" });
      expect(await walks()).toEqual([{ namespace: "default", keep: minute, ...walked }]);
      await prune({ keepFailedMs: 2 * minute });
      expect(await left()).toEqual([]);
      await anEnd(hours(6));
      expect(await prune({ keepMs: 2 * minute, keepFailedMs: 2 * minute })).toMatchObject({ pruned: 1 });
      await anEnd(hours(7));
      expect(await prune()).toMatchObject({ pruned: 0 });
      expect(await walks()).toHaveLength(4);
    });

    test("takes no run of another namespace", async () => {
      const [own, other] = [await anEnd(hours(1)), await anEnd(hours(1))];
      await stage.onlooker.query("update layover.run_state set namespace = 'other' where run_id = $1", [other.id]);
      expect(await prune()).toMatchObject({ pruned: 1 });
      expect([await own.state(), await other.state()]).toMatchObject([{}, { status: "completed" }]);
    });

    test("comes past many runs that have ended in the same millisecond, and are kept for longer", async () => {
      for (let n = 0; n < 10; n += 1) await anEnd(hours(2), "failed");
      await anEnd(hours(1));
      const calls = { limit: 1, keepFailedMs: day };
      expect(await prune(calls)).toEqual({ pruned: 0, isMore: true });
      expect(await prune(calls)).toMatchObject({ pruned: 1 });
    });

    test("begins behind its place, wherever that of another namespace is", async () => {
      const other = await aRun(stage);
      await ends(other, hours(1));
      for (const [table, key] of [
        ["run", "id"],
        ["run_state", "run_id"],
      ])
        await stage.onlooker.query(`update layover.${table} set namespace = 'other' where ${key} = $1`, [other.id]);
      expect(await prune({ namespace: "other" })).toMatchObject({ pruned: 1 });
      await anEnd(hours(5));
      expect(await prune()).toMatchObject({ pruned: 1 });
      await anEnd(hours(5));
      await anEnd(hours(4));
      expect(await prune()).toMatchObject({ pruned: 1 });
      await stage.onlooker.query("update layover.pruning set pruned_until = layover.from_ms($1)", [noon - minute]);
      expect(await prune()).toMatchObject({ pruned: 0 });
    });

    test("passes runs that are kept for longer, ten times as many as it deletes", async () => {
      for (let count = 1; count <= 25; count += 1) await anEnd(hours(30) + count, "failed");
      await anEnd(hours(2));
      const call = { keepMs: minute, keepFailedMs: 90 * day, limit: 1 };
      expect(await prune(call)).toEqual({ pruned: 0, isMore: true });
      expect(await walks()).toMatchObject([{ until: hours(30) + 10 }]);
      expect(await prune(call)).toEqual({ pruned: 0, isMore: true });
      expect(await prune(call)).toEqual({ pruned: 1, isMore: true });
      expect(await prune(call)).toEqual({ pruned: 0, isMore: false });
    });

    test("has nothing more to do where all it has seen has just ended", async () => {
      for (let count = 1; count <= 10; count += 1) await anEnd(noon - 5 * minute + count, "failed");
      expect(await prune({ keepFailedMs: 90 * day, limit: 1 })).toEqual({ pruned: 0, isMore: false });
    });

    test("stays ahead of a run that somebody has locked, and of what ended with it", async () => {
      const [locked] = [await anEnd(hours(3)), await anEnd(hours(2))];
      const holder = await stage.hold("select from layover.run_state where run_id = $1 for update", [locked.id]);
      expect(await prune()).toEqual({ pruned: 1, isMore: false });
      const came = "select pruned_until < layover.from_ms($1) as is_before from layover.pruning";
      expect(await stage.look(came, [hours(3)])).toEqual([{ is_before: true }]);
      await holder.commit();
      expect(await prune()).toEqual({ pruned: 1, isMore: false });
    });

    test("comes to the very end of the last run that it has deleted", async () => {
      await anEnd(hours(2));
      await prune();
      const came = "select pruned_until = layover.from_ms($1) as is_there from layover.pruning";
      expect(await stage.look(came, [hours(2)])).toEqual([{ is_there: true }]);
    });

    test("waits for no run that is locked, though another one ended at that instant", async () => {
      const [locked] = [await anEnd(hours(2)), await anEnd(hours(2))];
      await stage.hold("select from layover.run_state where run_id = $1 for update", [locked.id]);
      await stage.onlooker.query("set statement_timeout = '5s'");
      expect(await prune()).toEqual({ pruned: 1, isMore: false });
      expect(await locked.state()).toMatchObject({ status: "completed" });
    });

    test("leaves a run that has begun again since it was found", async () => {
      const [first, second] = [await anEnd(hours(3)), await anEnd(hours(2))];
      await stage.onlooker.query(
        "insert into layover.tag (run_id, namespace, name, value) values ($1, 'default', 'shop', 'one')",
        [first.id],
      );
      const holder = await stage.hold("select from layover.tag for update");
      const pruner = await stage.session("pruner");
      const told = pruner.call("prune_runs", { limit: 10, ...keep });
      await pruner.untilBlocked(holder);
      const restart = { runId: second.id, callId: randomUUID(), armed: [soon] };
      expect(await stage.onlooker.call("restart_run", restart)).toMatchObject({ outcome: "restarted" });
      await holder.commit();
      expect(await told).toMatchObject({ pruned: 1 });
      expect(await second.state()).toMatchObject({ status: "parked" });
    });

    test("has nothing more to do while the first of many is locked", async () => {
      const first = await anEnd(hours(3));
      for (let count = 1; count <= 10; count += 1) await anEnd(hours(2) + count);
      const holder = await stage.hold("select from layover.run_state where run_id = $1 for update", [first.id]);
      expect(await prune({ limit: 1 })).toEqual({ pruned: 0, isMore: true });
      expect(await prune({ limit: 1 })).toEqual({ pruned: 0, isMore: false });
      await holder.commit();
      expect(await prune({ limit: 1 })).toEqual({ pruned: 1, isMore: true });
    });

    test("looks again at the millisecond of the last run that it had room for", async () => {
      for (const at of [hours(3), hours(2), hours(2)]) await anEnd(at);
      expect(await prune({ limit: 2 })).toEqual({ pruned: 2, isMore: true });
      expect(await prune({ limit: 2 })).toEqual({ pruned: 1, isMore: false });
    });

    test("is forgotten after sixty days without one, in its own namespace", async () => {
      await stage.onlooker.query(
        `insert into layover.pruning (namespace, rules, keep_ms, pruned_until, began_at)
           select n, 'old', 1, layover.now(), layover.from_ms($1) from unnest(array['default', 'other']) as n`,
        [noon - 60 * day],
      );
      await prune();
      expect(await walks()).toHaveLength(2);
      await stage.clock.advance(1);
      await prune();
      expect(await walks()).toMatchObject([{ namespace: "other" }]);
    });

    test("keeps what it knows of deleted runs as long as the longest of these times, in each namespace", async () => {
      const note = (namespace: string, at: number) =>
        stage.onlooker.query(
          "insert into layover.deletion (namespace, run_id, deleted_at) values ($1, $2, layover.from_ms($3))",
          [namespace, randomUUID(), at],
        );
      for (const namespace of ["default", "other"])
        for (const minutes of [2, 3]) await note(namespace, noon - minutes * minute);
      const deletions = async () =>
        await stage.look(
          "select namespace, layover.to_ms(deleted_at)::float8 as at from layover.deletion order by 1, 2",
        );
      await prune({ keepMs: 3 * minute, keepFailedMs: 1 });
      expect(await deletions()).toEqual([
        { namespace: "default", at: noon - 2 * minute },
        { namespace: "other", at: noon - 3 * minute },
        { namespace: "other", at: noon - 2 * minute },
      ]);
    });
  },
  { perTest: true },
);
