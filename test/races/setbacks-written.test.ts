/** A turn that is set back is written into its own row, its map and its run. No other row changes. */
import { beforeEach, describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { rowsOn } from "./rows.ts";
import { aMap, aRecord, aRunAtWork, minute, noon, type Run, second, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

const why = "it took too long";

describeSomePostgres(
  "a setback",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "a map counts the branches that it waits for",
        "what is queued has somebody ahead in its map",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "due may be early, never late (by more than two minutes)",
      ],
    });
    const { write, set } = rowsOn(stage);
    const at = (ms: number) => `layover.now() + interval '${ms} ms'`;
    const state = async (run: Run) =>
      (
        await stage.look(
          `select blocked, layover.to_ms(ready_at)::float8 as ready, layover.to_ms(due_at)::float8 as due from layover.run_state where run_id = $1`,
          [run.id],
        )
      )[0];
    const spend = (run: Run, path: string) =>
      write("setback", run, {
        ...{ path: `'${path}'`, occurrence: "1", turn: "1", reason: "'why'", tries: "4" },
        ...{ since: "layover.now()", until: "layover.now()" },
      });

    describe("of a branch", () => {
      const paths = ["all/a", "all/b", "all/c"];
      let run: Run;
      let other: Run;
      beforeEach(async () => {
        [run, other] = [await aMap(stage, paths), await aMap(stage, paths)];
        await stage.onlooker.query(
          "update layover.pending set claims = 3, beginnings = 2, lost = 2, ready_at = layover.now()",
        );
        await stage.onlooker.query(`update layover.run_state set due_at = ${at(20 * minute)}`);
      });
      const rows = (one: Run) =>
        stage.look(
          `select path, turn, token is not null as is_leased, layover.to_ms(leased_until)::float8 as leased, claims, beginnings, lost, is_counted,
              layover.to_ms(ready_at)::float8 as ready from layover.pending where run_id = $1 order by path`,
          [one.id],
        );
      const counted = async (one: Run) =>
        (await stage.look("select counted from layover.map where run_id = $1 order by path", [one.id])).map(
          ({ counted: count }) => count,
        );
      const setBack = (more: object = {}) =>
        run.finishBranch(stage.onlooker, "all/a", { token: "all/a", setback: why, ...more });
      /** The claim of a branch that is worn, which arms nothing. */
      const wear = async () => {
        await stage.onlooker.query(
          `update layover.pending set claims = 99, lost = 9, leased_until = layover.now() where run_id = $1 and path = 'all/a'`,
          [run.id],
        );
        return await run.claimBranch(stage.onlooker, "all/a", { token: "next", groupSize: 1 });
      };
      const back = {
        path: "all/a",
        turn: 2,
        is_leased: false,
        leased: null,
        claims: 0,
        is_counted: false,
        ready: noon + minute,
      };

      test("is written of that branch alone, which its map waits for no more", async () => {
        const before = [await rows(other), await state(other), (await rows(run)).slice(1)];
        await setBack();
        expect((await rows(run))[0]).toMatchObject({ ...back, beginnings: 0 });
        expect([await rows(other), await state(other), (await rows(run)).slice(1)]).toEqual(before);
        expect([await counted(run), await counted(other)]).toEqual([[2], [3]]);
        expect(await state(run)).toEqual({ blocked: null, ready: null, due: soon });
      });

      test("by a claim leaves what is counted of it, but for its claims", async () => {
        expect(await wear()).toMatchObject({ outcome: "not_ready" });
        expect((await rows(run))[0]).toMatchObject({ ...back, beginnings: 2, lost: 10 });
      });

      test("leaves the other maps, and the same one of other runs", async () => {
        await write("map", run, { path: "'other'", counted: "5", fails_fast: "false" });
        await setBack();
        expect([await counted(run), await counted(other)]).toEqual([[2, 5], [3]]);
      });

      test("counts the tries of its own occurrence", async () => {
        await stage.onlooker.query(
          "update layover.pending set path = 'all/a', occurrence = 2, turn = 7 where run_id = $1 and path = 'all/b'",
          [run.id],
        );
        const turn = { ...run.toFinishBranch("all/a", { token: "all/b", setback: why }), occurrence: 2, turn: 7 };
        await stage.onlooker.call("finish_turns", { ...terms, turns: [turn] });
        const notes = await stage.look("select occurrence, turn from layover.setback where run_id = $1", [run.id]);
        expect(notes).toEqual([{ occurrence: 2, turn: 8 }]);
      });

      test("of the last one that its map waits for makes the run ready", async () => {
        await stage.onlooker.query("update layover.map set counted = 1");
        await setBack();
        expect(await state(run)).toEqual({ blocked: null, ready: 0, due: soon });
        expect(await state(other)).toMatchObject({ ready: null });
      });

      test("of one that no map waits for leaves the count", async () => {
        await stage.onlooker.query("update layover.pending set is_counted = false where path = 'all/a'");
        await stage.onlooker.query("update layover.map set counted = 1");
        await setBack();
        expect(await counted(run)).toEqual([1]);
        expect(await state(run)).toMatchObject({ ready: null });
      });

      test.each<readonly [what: string, change: string, isLast: boolean, due: number | null]>([
        ["as before, where that is early enough", `due_at = ${at(minute)}`, false, noon + minute],
        ["by the next tick, where that is earlier", `due_at = ${at(minute + 1)}`, false, noon],
        ["by the next tick, as nothing was due", "due_at = null", false, noon],
        ["as before, where it is ready now", "due_at = layover.now()", true, noon],
        ["by the next tick, where it is ready now", `due_at = ${at(1)}`, true, noon],
        ["by nobody while it is paused", "paused_at = layover.now(), due_at = null", false, null],
      ])("by a claim, which arms nothing, has the run looked at %s", async (what, change, isLast, due) => {
        if (isLast) await stage.onlooker.query("update layover.map set counted = 1");
        await set(run, change);
        const isPaused = what.includes("paused");
        if (isPaused) await setBack();
        else expect(await wear()).toMatchObject({ outcome: "not_ready" });
        expect(await state(run)).toMatchObject({ due });
      });

      test("leaves an instant that is nearer than the armed one", async () => {
        await set(run, `due_at = ${at(1)}`);
        await setBack();
        expect(await state(run)).toMatchObject({ due: noon + 1 });
      });

      test("too many leaves it uncounted where no map waits for it", async () => {
        await spend(run, "all/a");
        await stage.onlooker.query("update layover.pending set is_counted = false where path = 'all/a'");
        await setBack();
        expect((await rows(run))[0]).toMatchObject({ is_counted: false });
      });

      test("too many blocks its run, whose map goes on to wait for it", async () => {
        await spend(run, "all/a");
        await setBack();
        const spent = { ...back, claims: 0, beginnings: 0, lost: 0, is_counted: true, ready: noon };
        expect((await rows(run))[0]).toEqual(spent);
        expect(await counted(run)).toEqual([3]);
        expect(await state(run)).toEqual({ blocked: why, ready: null, due: null });
        expect(await state(other)).toEqual({ blocked: null, ready: null, due: noon + 20 * minute });
      });
    });

    describe("of a run", () => {
      const setBack = (run: Run, more: object = {}) =>
        run.finish(stage.onlooker, { token: "first", setback: why, ...more });
      let run: Run;
      let other: Run;
      beforeEach(async () => {
        [run, other] = [await aRunAtWork(stage), await aRunAtWork(stage)];
        await stage.onlooker.query(
          `update layover.run_state set due_at = ${at(20 * minute)}, ready_at = layover.now()`,
        );
      });
      const told = {
        outcome: "finished",
        turn: 2,
        status: "parked",
        isReady: false,
        isBlocked: false,
        readyAt: noon + minute,
        branches: null,
      };

      test("is written of that run alone, and told again", async () => {
        const before = await state(other);
        expect(await setBack(run)).toEqual(told);
        expect(await setBack(run)).toEqual(told);
        expect(await state(run)).toEqual({ blocked: null, ready: noon + minute, due: soon });
        expect(await state(other)).toEqual(before);
      });

      test("too many blocks it, and forgets none of what was noted of others", async () => {
        for (const one of [run, other]) await spend(one, "");
        await spend(run, "b");
        expect(await setBack(run)).toEqual({ ...told, isBlocked: true, isReady: false, readyAt: null });
        expect(await state(run)).toEqual({ blocked: why, ready: 0, due: null });
        expect(await state(other)).toMatchObject({ blocked: null });
        const left = await stage.look("select path from layover.setback where run_id = any ($1) order by path", [
          [run.id, other.id],
        ]);
        expect(left).toEqual([{ path: "" }, { path: "b" }]);
      });

      test("counts anew where the turn got on, and goes on counting where it did not", async () => {
        for (const one of [run, other]) await spend(one, "");
        await setBack(run, { records: [aRecord("step", "it")] });
        expect(await state(run)).toMatchObject({ blocked: null, ready: noon + minute });
        const tries = async (one: Run) =>
          await stage.look("select tries from layover.setback where run_id = $1", [one.id]);
        expect([await tries(run), await tries(other)]).toEqual([[{ tries: 1 }], [{ tries: 4 }]]);
      });

      test.each([
        ["at its timeout, if that is earlier", `timeout_at = ${at(second)}`, noon + second],
        ["at its own time, if that is earlier", `timeout_at = ${at(61 * second)}`, noon + minute],
        ["at once, if its cancel was asked for", "cancel_requested_at = layover.now()", 0],
      ])("has it ready %s", async (_, change, ready) => {
        await set(run, change);
        await setBack(run);
        expect(await state(run)).toMatchObject({ ready });
      });

      test("of a run that is blocked already has nobody look at it", async () => {
        await set(run, "paused_at = layover.now(), due_at = null");
        await setBack(run);
        expect(await state(run)).toEqual({ blocked: null, ready: noon + minute, due: null });
      });
    });
  },
  { perTest: true },
);
