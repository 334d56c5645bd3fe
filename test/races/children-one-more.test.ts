/** A run starts one more while somebody cancels or ends it, or has it begin anew: the new one is asked to end like the others. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { childOf, idOf, startingOn } from "./invoking.ts";
import { isFreeOn } from "./lock-order.ts";
import { aRunAtWork, noon, Run, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

/** The run that is started meanwhile, the one that was there before, and the one that starts them: their locks are taken in this order. */
const [late, early, parentId] = [idOf(1), idOf(2), idOf(3)];
const tags = { team: "blue" };

describeSomePostgres(
  "a run that is started while somebody ends its parent",
  (database) => {
    const stage = stageOn(database);
    const { made, waits } = startingOn(stage);
    const isFree = isFreeOn(stage);
    const stateOf = (id: string) => `from layover.run_state where run_id = '${id}'`;

    const one = (verb: "cancel" | "terminate" | "restart") => (session: Session) =>
      session.call(`${verb}_run`, { runId: parentId, callId: randomUUID(), armed: [soon] });
    const many = (verb: "cancel" | "terminate" | "restart", more: object) => (session: Session) => {
      const callId = "ffffffff-ffff-7000-8000-000000000001";
      return session.call("operate_runs", { verb, filter: { tags, ...more }, callId, armed: [soon] });
    };
    const terminations = [
      ["a termination", one("terminate"), { outcome: "terminated" }],
      ["a termination of many", many("terminate", {}), { outcomes: { terminated: 1 } }],
    ] as const;
    const cancels = [
      ["a cancel", one("cancel"), { outcome: "cancelling" }],
      ["a cancel of many", many("cancel", {}), { outcomes: { cancelling: 1 } }],
    ] as const;
    const restarts = [
      ["a restart", one("restart"), { outcome: "restarted" }],
      ["a restart of many", many("restart", { status: "paused" }), { outcomes: { restarted: 1 } }],
    ] as const;

    /** Its first turn is under way. Acts on many mean it alone. */
    const aParent = () => aRunAtWork(stage, { runId: parentId, tags });
    const start = (parent: Run, id: string, path: string, token: string) => (session: Session) =>
      parent.finish(session, { token, children: [childOf(id, path, { isBound: true })] });
    /** The finish that starts the late one comes first, and `act` waits for it. Its answer names the late one. */
    const startedBefore = async (act: (session: Session) => Promise<object>, told: object) => {
      const parent = await aParent();
      const [, answer] = await stage.collide<unknown, object>({
        first: start(parent, late, "late", "first"),
        second: act,
      });
      expect(answer).toMatchObject(told);
      expect(ready(answer)).toEqual([{ runId: late, turn: 1 }]);
      return parent;
    };
    const asked = async () =>
      await stage.look(
        `select run_id as id, cancel_reason as why, layover.to_ms(cancel_requested_at)::float8 as at, ready_at = 'epoch' as "isReady"
           from layover.run_state where cancel_requested_at is not null order by run_id`,
      );
    const isAsked = (id: string) => ({ id, why: "its parent waits for it no more", at: noon, isReady: true });
    /** The runs that an answer says may be claimed, without the parent, in the order of their ids. */
    const ready = (told: object) => {
      const list = "others" in told ? told.others : "turns" in told ? told.turns : [];
      if (!Array.isArray(list)) throw new Error("An answer holds no list.");
      const others: readonly { readonly runId: string }[] = list;
      return others.filter(({ runId }) => runId !== parentId).toSorted((a, b) => (a.runId < b.runId ? -1 : 1));
    };

    test.each(terminations)("%s that waits for the finish asks it to end, and it ends alone", async (_, act, told) => {
      const parent = await startedBefore(act, told);
      expect(await parent.state()).toMatchObject({ status: "cancelled" });
      expect([await waits(parent), await asked()]).toEqual([[], [isAsked(late)]]);
      const child = new Run(stage, late);
      expect(await child.claim(stage.onlooker, { token: "child" })).toMatchObject({ outcome: "claimed" });
      const ended = await child.finish(stage.onlooker, {
        token: "child",
        position: 1,
        next: "cancelled",
        value: "0{}",
      });
      expect(ended).toMatchObject({ outcome: "finished", status: "cancelled", others: [] });
    });

    test.each(terminations)("is never there where the finish waits for %s", async (_, act, told) => {
      const parent = await aParent();
      const [answer, finished] = await stage.collide<object, unknown>({
        first: act,
        second: start(parent, late, "late", "first"),
      });
      expect([answer, finished]).toMatchObject([told, { outcome: "superseded" }]);
      expect(await made(parent)).toEqual([]);
    });

    test.each(cancels)(
      "%s that waits for the finish asks it to end, and the parent waits for that",
      async (_, act, told) => {
        const parent = await startedBefore(act, told);
        expect(await asked()).toMatchObject([isAsked(late), { id: parentId }]);
        expect(await waits(parent)).toMatchObject([
          { child_run_id: late, child_bond: "cancelled", child_status: null },
        ]);
      },
    );

    test.each(cancels)("is not started where the finish waits for %s", async (_, act, told) => {
      const parent = await aParent();
      const [answer, finished] = await stage.collide<object, unknown>({
        first: act,
        second: start(parent, late, "late", "first"),
      });
      expect([answer, finished]).toMatchObject([told, { outcome: "finished" }]);
      expect(await made(parent)).toEqual([]);
    });

    test("goes on where a restart that waits for the finish is refused, since nobody has paused its parent", async () => {
      const parent = await aParent();
      const [, answer] = await stage.collide({
        first: start(parent, late, "late", "first"),
        second: one("restart"),
      });
      expect(answer).toMatchObject({ outcome: "not_applicable", status: "waiting" });
      expect(await waits(parent)).toMatchObject([{ child_run_id: late, child_bond: "cancel", child_status: null }]);
      expect(await asked()).toEqual([]);
    });

    describe("while that waits for the lock of another one is asked to end as that one is:", () => {
      test.each([...cancels, ...terminations, ...restarts])(
        "%s gives back its locks, and takes all of them by id",
        async (name, act, told) => {
          const isCancel = cancels.some(([cancel]) => cancel === name);
          const isRestart = restarts.some(([restart]) => restart === name);
          const parent = await aParent();
          await start(parent, early, "early", "first")(stage.onlooker);
          await stage.onlooker.query("update layover.run_state set ready_at = 'epoch' where run_id = $1", [parentId]);
          await parent.claim(stage.onlooker, { turn: 2, token: "second" });
          if (isRestart) await parent.operate(stage.onlooker, "pause");
          const another = await stage.hold(`select ${stateOf(early)} for update`);
          const verb = await stage.session("verb");
          const answered = act(verb);
          await verb.untilBlocked(another);
          if (isRestart) await parent.operate(stage.onlooker, "resume");
          await start(parent, late, "late", "second")(stage.onlooker);
          if (isRestart) await parent.operate(stage.onlooker, "pause");
          const newest = await stage.hold(`select ${stateOf(late)} for update`);
          await another.commit();
          await verb.untilBlocked(newest);
          expect([await isFree(stateOf(early)), await isFree(stateOf(parentId))]).toEqual([true, true]);
          await newest.commit();
          const answer = await answered;
          expect(answer).toMatchObject(told);
          expect(ready(answer)).toEqual([late, early].map((runId) => ({ runId, turn: 1 })));
          expect(await waits(parent)).toHaveLength(isCancel ? 2 : 0);
          expect(await asked()).toMatchObject([isAsked(late), isAsked(early), ...(isCancel ? [{ id: parentId }] : [])]);
        },
      );
    });
  },
  { perTest: true },
);
