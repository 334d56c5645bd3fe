/** The runs that another one waits for no more: each is asked to end, once, and no other run is. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild, idOf, startMany } from "./invoking.ts";
import { aRecord, aRunAtWork, minute, noon, Run, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a run that is left",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "a run has ended whose end its parent is told",
        "the end of a run has reached the one that waits for it",
        "due may be early, never late (by more than two minutes)",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "positions are dense from 1, and last_position is the last",
        "a parked run is ready once a run has ended in time that it waits for",
      ],
    });
    const { value: _, ...late } = aRecord("child", "a");
    /** Waits for `a` and `b`, and for `c`, which goes on without it. Its second turn is under way. */
    const aFamily = async () => {
      const parent = await aRunAtWork(stage);
      const starts = [aChild("a", { isBound: true }), aChild("b", { isBound: true }), aChild("c")];
      await parent.finish(stage.onlooker, { token: "first", children: starts.toReversed() });
      await stage.onlooker.query("update layover.run_state set ready_at = 'epoch' where run_id = $1", [parent.id]);
      await parent.claim(stage.onlooker, { token: `2 of ${parent.id}`, turn: 2 });
      const [a, b, c] = starts.map(({ runId }) => new Run(stage, runId));
      if (a === undefined || b === undefined || c === undefined) throw new Error("A run is missing.");
      return { parent, a, b, c };
    };
    const finish = (parent: Run, more: object) =>
      parent.finish(stage.onlooker, { token: `2 of ${parent.id}`, next: "ready", ...more });
    const rows = async (parent: Run) =>
      await stage.look(
        "select path, is_released, child_bond, child_status from layover.pending where run_id = $1 order by path",
        [parent.id],
      );
    const asked = async (run: Run) => {
      const [row] = await stage.look(
        `select cancel_reason, layover.to_ms(cancel_requested_at)::float8 as at, blocked, refused_by, layover.to_ms(paused_at) as paused,
            ready_at = 'epoch' as is_ready, layover.to_ms(due_at)::float8 as due from layover.run_state where run_id = $1`,
        [run.id],
      );
      return row ?? {};
    };
    const waited = (path: string, bond: string | null) => ({
      path,
      is_released: false,
      child_bond: bond,
      child_status: null,
    });
    const left = { is_released: true, child_bond: "cancelled", child_status: null };

    test("too late for its parent is asked to end, and the others are not, of this run and of others", async () => {
      const [one, other] = [await aFamily(), await aFamily()];
      expect(await finish(one.parent, { records: [late] })).toMatchObject({ others: [{ runId: one.a.id, turn: 1 }] });
      expect(await rows(one.parent)).toEqual([{ path: "a", ...left }, waited("b", "cancel"), waited("c", null)]);
      expect(await rows(other.parent)).toEqual([waited("a", "cancel"), waited("b", "cancel"), waited("c", null)]);
      expect(await asked(one.a)).toMatchObject({ at: noon });
      for (const run of [one.b, one.c, other.a]) expect(await asked(run)).toMatchObject({ at: null });
    });

    test("by the end of its parent is asked to end, in the order of ids, and those of other runs are not", async () => {
      const [one, other] = [await aFamily(), await aFamily()];
      const told = await finish(one.parent, { next: "completed", value: "0null" });
      expect(told).toMatchObject({ others: [one.a.id, one.b.id].sort().map((runId) => ({ runId, turn: 1 })) });
      expect(await rows(other.parent)).toHaveLength(3);
      for (const run of [one.c, other.a, other.b]) expect(await asked(run)).toMatchObject({ at: null });
    });

    test("by the termination of its parent is asked to end, and those of other runs are not", async () => {
      const [one, other] = [await aFamily(), await aFamily()];
      const told = await one.parent.operate(stage.onlooker, "terminate");
      const others = [one.a.id, one.b.id].sort().map((runId) => ({ runId, turn: 1 }));
      expect(told).toMatchObject({ outcome: "terminated", others });
      for (const run of [one.a, one.b]) expect(await asked(run)).toMatchObject({ at: noon });
      for (const run of [one.c, other.a, other.b]) expect(await asked(run)).toMatchObject({ at: null });
    });

    test("by the cancel of its parent is asked to end at once, though nobody carries the code of that one", async () => {
      const [one, other] = [await aFamily(), await aFamily()];
      const others = [one.a.id, one.b.id].sort().map((runId) => ({ runId, turn: 1 }));
      expect(await one.parent.operate(stage.onlooker, "cancel")).toMatchObject({ outcome: "cancelling", others });
      for (const run of [one.a, one.b]) expect(await asked(run)).toMatchObject({ at: noon });
      for (const run of [one.c, other.a, other.b]) expect(await asked(run)).toMatchObject({ at: null });
      const before = await rows(one.parent);
      expect(before).toMatchObject([{ path: "a", ...left }, { path: "b", ...left }, { path: "c" }]);
      await stage.clock.advance(minute);
      expect(await one.parent.operate(stage.onlooker, "cancel")).toEqual({
        outcome: "cancelling",
        runId: one.parent.id,
      });
      expect(await rows(one.parent)).toEqual(before);
    });

    test("is named by the cancel of its parent if it is among the first thousand by id; all are asked", async () => {
      const { parent } = await aFamily();
      const ids = Array.from({ length: 1_001 }, (_, index) => idOf(index + 1));
      await startMany(stage, parent, ids.toReversed());
      const told = await parent.operate(stage.onlooker, "cancel");
      const others = ids.slice(0, 1_000).map((runId) => ({ runId, turn: 1 }));
      expect(told).toMatchObject({ outcome: "cancelling", others });
      const [row] = await stage.look(
        "select count(*)::int from layover.run_state where cancel_requested_at is not null and has_parent",
      );
      expect(row).toEqual({ count: 1_003 });
    });

    test("at another place of the same name is not asked to end", async () => {
      const { parent, a, b } = await aFamily();
      await stage.look("update layover.pending set path = 'a', occurrence = 2 where run_id = $1 and path = 'b'", [
        parent.id,
      ]);
      expect(await finish(parent, { records: [late] })).toMatchObject({ others: [{ runId: a.id, turn: 1 }] });
      expect(await asked(b)).toMatchObject({ at: null });
    });

    test("by the closing of its parent is waited for for a day", async () => {
      const { parent } = await aFamily();
      await finish(parent, { closing: true, records: [aRecord("step", "x")] });
      expect(await rows(parent)).toMatchObject([{ path: "a", ...left }, { path: "b", ...left }, { path: "c" }]);
      const until = await stage.look("select layover.to_ms(until)::float8 as at from layover.pending where path = 'a'");
      expect(until).toEqual([{ at: noon + 24 * 60 * minute }]);
    });

    test("is ready for its end at once, whatever kept it", async () => {
      const { parent, a } = await aFamily();
      await stage.onlooker.query(
        `update layover.run_state set ready_at = layover.now() + interval '1 h', due_at = null, blocked = 'no', refused_by = '{}',
            paused_at = layover.now() where run_id = $1`,
        [a.id],
      );
      await finish(parent, { records: [late] });
      expect(await asked(a)).toEqual({
        ...{ cancel_reason: "its parent waits for it no more", at: noon },
        ...{ blocked: null, refused_by: null, paused: null, is_ready: true, due: soon },
      });
    });

    describe("is not asked where it ends already:", () => {
      test.each([
        [
          "it is over",
          "status = 'completed', result = '0null', ended_at = layover.now(), due_at = null, ready_at = null",
        ],
        ["somebody has asked it", "cancel_requested_at = layover.now() - interval '1 s', cancel_reason = 'mine'"],
        ["its cancel is in its history", "cancelled_position = 1"],
        ["its end is in its history", "ending_position = 1"],
        ["it closes", "is_closing = true"],
      ])("%s", async (_, state) => {
        const { parent, a } = await aFamily();
        await stage.onlooker.query(`update layover.run_state set ${state} where run_id = $1`, [a.id]);
        const before = await asked(a);
        const told = await finish(parent, { records: [late] });
        expect("others" in told ? told.others : null).toBeNull();
        expect(await asked(a)).toEqual(before);
      });
    });

    describe("and has ended", () => {
      const ended = "child_status = 'completed', child_ended_at = layover.now(), is_released = true";
      test("is waited for no more by its own parent", async () => {
        const [one, other] = [await aFamily(), await aFamily()];
        await stage.onlooker.query(`update layover.pending set ${ended} where path = 'b'`);
        await finish(one.parent, { records: [late] });
        expect((await rows(one.parent)).map(({ path }) => path)).toEqual(["a", "c"]);
        expect((await rows(other.parent)).map(({ path }) => path)).toEqual(["a", "b", "c"]);
      });

      test("is kept for its parent where it went on without that", async () => {
        const { parent } = await aFamily();
        await stage.onlooker.query(`update layover.pending set ${ended} where path = 'c'`);
        await finish(parent, { records: [late] });
        expect((await rows(parent)).map(({ path }) => path)).toEqual(["a", "b", "c"]);
      });
    });
  },
  { perTest: true },
);
