/** A run that was invoked is deleted while its end stands in its parent's row: it is undone, if the parent does not take that end. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { record } from "./branching.ts";
import { aChild, freshIds } from "./invoking.ts";
import { aRecord, aRunAtWork, branches, minute, Run, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";
import { claimsOn } from "./undoing.ts";

type Ids = ReturnType<typeof freshIds>;

describeSomePostgres(
  "an end that stands untaken, of a run that is deleted,",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["a parked run is ready once a run has ended in time that it waits for"],
    });
    const claim = claimsOn(stage);
    const path = "race/it";
    const lateId = "019b799d-0000-7000-8000-0000000000ff";

    /** The child has ended. The second turn of its parent is under way, beside a branch. */
    async function aFamily({
      isBound = false,
      ids = freshIds(),
    }: {
      isBound?: boolean;
      ids?: Pick<Ids, "parent" | "one">;
    } = {}) {
      const parent = await aRunAtWork(stage, { runId: ids.parent });
      const start = aChild(path, { runId: ids.one, ...(isBound && { isBound }) });
      await parent.finish(stage.onlooker, { token: "first", children: [start], demands: branches(["b"]) });
      await parent.claimBranch(stage.onlooker, "b", { token: "b" });
      const child = new Run(stage, start.runId);
      await child.claim(stage.onlooker, { token: "child" });
      await child.finish(stage.onlooker, { token: "child", next: "completed", value: '0"done"' });
      await claim(parent, 2);
      return { parent, child };
    }
    const removes =
      ({ id }: Run) =>
      (session: Session) =>
        session.call("delete_run", { runId: id, callId: randomUUID() });
    const removesAll = (session: Session) => {
      const filter = { workflow: "flow", status: "completed" };
      return session.call("operate_runs", {
        verb: "delete",
        callId: lateId,
        filter,
        limit: 10,
        walk: 100,
        armed: [soon],
      });
    };
    const removesByPage = (_: Run) => removesAll;
    const prune = async (session: Session) =>
      (await session.call("prune_runs", { keepMs: minute, keepFailedMs: minute, limit: 10 })).pruned;
    const attempts = async ({ id }: Run) =>
      await stage.look(
        `select path, occurrence, number, error::text like '%"interrupted"%' as "isInterrupted", epoch
           from layover.attempt where run_id = $1`,
        [id],
      );
    const kept = [{ path, occurrence: 1, number: 1, isInterrupted: true, epoch: 0 }];
    const finishes =
      (more: object) =>
      ({ id }: Run) =>
      (session: Session) =>
        new Run(stage, id).finish(session, { token: "turn 2", next: "ready", ...more });
    const released = [{ prefix: "race/", position: 0 }];
    const failed = { closing: true, endsAs: { next: "failed", value: "0{}" } };
    /** How the parent takes the end no more. */
    const ways = [
      ["a finish that closes the parent", finishes(failed), false],
      ["a deferred finish that closes the parent", finishes(failed), true],
      ["a finish that has decided its race", finishes({ released }), false],
      ["a deferred finish that has decided its race", finishes({ released }), true],
    ] as const;
    const bonds = [{ isBound: true }, { isBound: false }];
    const each = ways.flatMap(([what, leaves, isDeferred]) =>
      bonds.map(({ isBound }) => ({ what, leaves, isDeferred, isBound })),
    );

    describe.each(each)("is left by $what (ends with its parent: $isBound)", ({ leaves, isDeferred, isBound }) => {
      const aDecidedFamily = async () => {
        const family = await aFamily({ isBound });
        if (isDeferred) await record(family.parent, "b")(stage.onlooker);
        return family;
      };
      test("after that: it leaves an attempt, and that of another run leaves none", async () => {
        const [{ parent, child }, other] = [await aDecidedFamily(), await aDecidedFamily()];
        await removes(child)(stage.onlooker);
        expect(await attempts(parent)).toEqual([]);
        const outcome = isDeferred ? "deferred" : "finished";
        for (const one of [parent, other.parent]) expect(await leaves(one)(stage.onlooker)).toMatchObject({ outcome });
        expect([await attempts(parent), await attempts(other.parent)]).toEqual([kept, []]);
      });

      test("before that: it leaves an attempt by then, though another run has a record of that name", async () => {
        const { parent, child } = await aDecidedFamily();
        const other = await aRunAtWork(stage);
        await other.finish(stage.onlooker, { token: "first", records: [aRecord("step", path)] });
        await leaves(parent)(stage.onlooker);
        await removes(child)(stage.onlooker);
        expect(await attempts(parent)).toEqual(kept);
      });

      test.each(["commit", "rollback"] as const)("while it is deleted (%s)", async (ends) => {
        const { parent, child } = await aDecidedFamily();
        await stage.collide({ first: removes(child), second: leaves(parent), ends });
        expect(await attempts(parent)).toEqual(ends === "commit" ? kept : []);
      });

      test.each([
        ["a person", "commit", removes],
        ["a person", "rollback", removes],
        ["a page", "commit", removesByPage],
        ["a page", "rollback", removesByPage],
      ] as const)("before that is done %s deletes it (%s)", async (_, ends, by) => {
        const { parent, child } = await aDecidedFamily();
        await stage.collide<unknown, unknown>({ first: leaves(parent), second: by(child), ends });
        expect(await attempts(parent)).toEqual(ends === "commit" ? kept : []);
      });
    });

    test.each([true, false])("is left by the claim that closes its parent (ends with it: %s)", async (isBound) => {
      const { parent, child } = await aFamily({ isBound });
      await parent.finish(stage.onlooker, { token: "turn 2" });
      await record(parent, "b")(stage.onlooker);
      await stage.onlooker.call("cancel_run", { runId: parent.id, callId: randomUUID(), armed: [soon] });
      const closes = (session: Session) => parent.claim(session, { turn: 3, token: "turn 3" });
      const [, told] = await stage.collide({ first: removes(child), second: closes });
      expect(told).toMatchObject({ outcome: "claimed" });
      expect(await attempts(parent)).toEqual(kept);
    });

    test("leaves no attempt where its parent has decided another race", async () => {
      const { parent, child } = await aFamily();
      await removes(child)(stage.onlooker);
      await finishes({ released: [{ prefix: "other/", position: 0 }] })(parent)(stage.onlooker);
      expect(await attempts(parent)).toEqual([]);
    });

    test("leaves an attempt where it is pruned while somebody is about to leave it, and waits for nobody", async () => {
      const { parent } = await aFamily();
      await stage.clock.advance(minute);
      const holder = await stage.session("holder");
      await holder.begin();
      await finishes({ released })(parent)(holder);
      expect(await prune(stage.onlooker)).toBe(1);
      await holder.commit();
      expect(await attempts(parent)).toEqual(kept);
    });

    test("leaves no attempt where it is pruned and its parent takes it later", async () => {
      const { parent } = await aFamily();
      await stage.clock.advance(minute);
      expect(await prune(stage.onlooker)).toBe(1);
      const records = [aRecord("child", path, { value: '0"done"' })];
      await parent.finish(stage.onlooker, { token: "turn 2", next: "ready", records });
      expect([await parent.kinds(), await attempts(parent)]).toEqual([[`child ${path}`], []]);
    });

    test.each([
      [
        "of its parent, which comes before it",
        removes,
        ({ parent, one }: Ids) => ({ parent, one, held: parent, free: one }),
      ],
      [
        "of its parent, which comes after it",
        removes,
        ({ early, parent }: Ids) => ({ parent, one: early, held: early, free: parent }),
      ],
      [
        "of all of a page",
        removesByPage,
        ({ early, parent, other }: Ids) => ({ parent: other, one: early, held: parent, free: other }),
      ],
    ] as const)("is deleted in the order of ids: %s", async (_, by, inOrder) => {
      const ids = inOrder(freshIds());
      const { child } = await aFamily({ ids });
      if (ids.held !== ids.parent && ids.held !== ids.one) {
        const another = await aRunAtWork(stage, { runId: ids.held });
        await another.finish(stage.onlooker, { token: "first", next: "completed", value: "0null" });
      }
      const holder = await stage.hold("select from layover.run_state where run_id = $1 for update", [ids.held]);
      const session = await stage.session("remover");
      const told = by(child)(session);
      await session.untilBlocked(holder);
      await stage.onlooker.query("set lock_timeout = '2s'");
      await stage.onlooker.query("select from layover.run_state where run_id = $1 for update", [ids.free]);
      await holder.commit();
      await told;
      expect(await stage.look("select from layover.run where id = $1", [child.id])).toEqual([]);
    });

    test("leaves nothing with a parent that ends and is deleted while it is deleted itself", async () => {
      const { parent, child } = await aFamily();
      await stage.onlooker.query("delete from layover.pending where run_id = $1", [parent.id]);
      const end = (session: Session) => parent.finish(session, { token: "turn 2", next: "completed", value: "0null" });
      await stage.collide({ first: removes(child), second: end });
      await removes(parent)(stage.onlooker);
      expect(await attempts(parent)).toEqual([]);
    });
  },
  { perTest: true },
);
