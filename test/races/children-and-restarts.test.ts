/** A run ends while its paused parent is restarted: in either order the next epoch of the parent has nothing of it. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { childOf, idOf, startingOn } from "./invoking.ts";
import { repairsOn } from "./next-epochs.ts";
import { rowsOn } from "./rows.ts";
import { aRunAtWork, Run, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const families = [
  ["first", [idOf(1), idOf(2)]],
  ["last", [idOf(2), idOf(1)]],
] as const;
/** The run that the next epoch starts at the same place. */
const anew = idOf(3);

describeSomePostgres(
  "a run that ends while its paused parent is restarted",
  (database) => {
    const stage = stageOn(database);
    const { state } = rowsOn(stage);
    const { made, waits } = startingOn(stage);
    const { claim } = repairsOn(stage);

    /** The run is at work, and its parent was paused after its first turn, which has started the run. */
    async function aFamily([parentId, childId]: readonly [string, string], isBound: boolean) {
      const parent = await aRunAtWork(stage, { runId: parentId });
      await parent.finish(stage.onlooker, {
        token: "first",
        children: [childOf(childId, "it", isBound ? { isBound } : {})],
      });
      const child = new Run(stage, childId);
      await child.claim(stage.onlooker, { token: "child" });
      await parent.operate(stage.onlooker, "pause");
      const complete = (session: Session) =>
        child.finish(session, { token: "child", next: "completed", value: '0"done"' });
      const restart = (session: Session) =>
        session.call("restart_run", { runId: parentId, callId: randomUUID(), armed: [soon] });
      return { parent, child, complete, restart };
    }
    const restarted = { outcome: "restarted", epoch: 1, kept: 0, dropped: 0, turn: 3 };
    const completed = { outcome: "finished", status: "completed", others: [] };
    const asked = async (run: Run) => (await state(run, "cancel_reason"))?.["cancel_reason"];
    const isAsked = "its parent waits for it no more";

    /** The parent is in its epoch 1, ready, and neither waits for a run nor was told of one. */
    async function expectNothingOfIt(parent: Run): Promise<void> {
      expect(await state(parent, "epoch, status, has_mail, has_pending, children, paused_at")).toEqual({
        ...{ epoch: 1, status: "parked", has_mail: false, has_pending: false, children: 0, paused_at: null },
      });
      expect(await waits(parent)).toEqual([]);
    }
    /** The next turn of the parent is offered no end. It starts another run at that place, and waits for that. */
    async function startAnew(parent: Run): Promise<void> {
      await claim(parent, "anew");
      const children = [childOf(anew, "it", { isBound: true })];
      const finished = await parent.finish(stage.onlooker, { token: "anew", children });
      expect(finished).toMatchObject({ outcome: "finished", hasStarted: true, isReady: false });
    }
    const expectToWaitAnew = async (parent: Run) => {
      const wait = { path: "it", child_run_id: anew, child_bond: "cancel", child_status: null };
      expect(await waits(parent)).toMatchObject([wait]);
      expect(await state(parent, "has_mail, ready_at")).toEqual({ has_mail: false, ready_at: null });
    };
    /** Once it has been told, it ends as cancelled, which it tells to nobody. */
    async function expectToEndAlone(child: Run): Promise<void> {
      expect(await child.claim(stage.onlooker, { turn: 2, token: "told" })).toMatchObject({ outcome: "claimed" });
      const end = { token: "told", position: 1, next: "cancelled", value: "0{}" } as const;
      const ended = await child.finish(stage.onlooker, end);
      expect(ended).toMatchObject({ outcome: "finished", status: "cancelled", others: [] });
    }

    describe.each(families)("and ends with its parent, which is locked %s:", (_, ids) => {
      test("its end came first, and it is not asked to end", async () => {
        const { parent, child, complete, restart } = await aFamily(ids, true);
        const [ended, told] = await stage.collide({ first: complete, second: restart });
        expect([ended, told]).toMatchObject([completed, { ...restarted, others: null }]);
        expect([await asked(child), await child.state()]).toMatchObject([null, { status: "completed" }]);
        await expectNothingOfIt(parent);
        await startAnew(parent);
        expect(await complete(stage.onlooker)).toMatchObject({ outcome: "finished", status: "completed" }); // again
        await expectToWaitAnew(parent);
        expect(await made(parent)).toEqual([child.id, anew].sort());
      });

      test("its end rolls back, and it is asked to end", async () => {
        const { parent, child, complete, restart } = await aFamily(ids, true);
        const [, told] = await stage.collide({ first: complete, second: restart, ends: "rollback" });
        expect(told).toMatchObject({ ...restarted, others: [{ runId: child.id, turn: 1 }] });
        expect([await asked(child), await child.state()]).toMatchObject([isAsked, { status: "running" }]);
        await expectNothingOfIt(parent);
      });

      test("its end waits for the restart, is dropped, and tells nobody", async () => {
        const { parent, child, complete, restart } = await aFamily(ids, true);
        const [told, ended] = await stage.collide({ first: restart, second: complete });
        expect(told).toMatchObject({ ...restarted, others: [{ runId: child.id, turn: 1 }] });
        expect(ended).toMatchObject({ outcome: "finished", status: "parked", isReady: true });
        expect([await asked(child), await child.state()]).toMatchObject([isAsked, { isReady: true, result: null }]);
        await expectNothingOfIt(parent);
        await startAnew(parent);
        await expectToEndAlone(child);
        await expectToWaitAnew(parent);
      });

      test("the restart rolls back, and its end is kept for the resume of its parent", async () => {
        const { parent, child, complete, restart } = await aFamily(ids, true);
        const [, ended] = await stage.collide({ first: restart, second: complete, ends: "rollback" });
        expect(ended).toMatchObject(completed);
        expect([await asked(child), await waits(parent)]).toMatchObject([null, [{ child_status: "completed" }]]);
        expect(await state(parent, "epoch, has_mail")).toEqual({ epoch: 0, has_mail: true });
        expect(await parent.operate(stage.onlooker, "resume")).toMatchObject({ outcome: "resumed", turn: 2 });
      });
    });

    describe.each(families)("and need not end with its parent, which is locked %s:", (_, ids) => {
      test("its end came first", async () => {
        const { parent, child, complete, restart } = await aFamily(ids, false);
        const [ended, told] = await stage.collide({ first: complete, second: restart });
        expect([ended, told]).toMatchObject([completed, { ...restarted, others: null }]);
        expect(await asked(child)).toBeNull();
        await expectNothingOfIt(parent);
        await startAnew(parent);
        await expectToWaitAnew(parent);
      });

      test("its end waits for the restart, is its own, and tells nobody", async () => {
        const { parent, child, complete, restart } = await aFamily(ids, false);
        const [told, ended] = await stage.collide({ first: restart, second: complete });
        expect([told, ended]).toMatchObject([{ ...restarted, others: null }, completed]);
        expect([await asked(child), await child.state()]).toMatchObject([null, { status: "completed" }]);
        await expectNothingOfIt(parent);
        await startAnew(parent);
        await expectToWaitAnew(parent);
      });
    });
  },
  { perTest: true },
);
