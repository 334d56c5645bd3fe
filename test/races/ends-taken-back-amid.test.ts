/** A run begins again while its parent reads, takes or leaves its end: either the parent has taken it, or it waits, and whatever ends the wait ends the run. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { anUntakenEnd, idOf } from "./invoking.ts";
import { isFreeOn } from "./lock-order.ts";
import { repairsOn } from "./next-epochs.ts";
import { rowsOn } from "./rows.ts";
import { aDemand, aRecord, aRunAtWork, aWaitFor, type Run, soon, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

/** The ids of a parent and its child: the parent's row is locked first, or last. */
const orders = [
  ["first", [idOf(1), idOf(2)]],
  ["last", [idOf(2), idOf(1)]],
] as const;

describeSomePostgres(
  "a run that begins again while its parent",
  (database) => {
    const stage = stageOn(database);
    const { claim } = repairsOn(stage);
    const { state, setWaits } = rowsOn(stage);
    const isFree = isFreeOn(stage);
    const verbs = ["retry", "restart"] as const;
    const all = verbs.flatMap((verb) => orders.map(([order, ids]) => [verb, order, ids] as const));

    const beginAgain = (child: Run, verb: (typeof verbs)[number]) => (session: Session) =>
      session.call(`${verb}_run`, { runId: child.id, callId: randomUUID(), armed: [soon] });
    const read = (parent: Run) => (session: Session) => parent.claim(session, { turn: 2, token: "second" });
    const finish =
      (parent: Run, more: object = {}) =>
      (session: Session) =>
        parent.finish(session, { token: "second", ...more });
    const taken = {
      records: [aRecord("child", "it", { value: '0"why"', isFailure: true })],
      demands: [aWaitFor("go")],
    };
    const waits = (run: Run) =>
      stage.look(
        "select child_bond as bond, child_status as status from layover.pending where run_id = $1 and kind = 'child'",
        [run.id],
      );
    const asked = async (run: Run) => (await state(run, "cancel_reason"))?.["cancel_reason"];
    const isAsked = "its parent waits for it no more";
    const untold = [{ bond: "cancel", status: null }];
    /** It ends for the second time. */
    async function endAgain(child: Run): Promise<object> {
      await claim(child, "again");
      return await child.finish(stage.onlooker, { token: "again", next: "completed", value: '0"done"' });
    }
    /** It is told to nobody. */
    async function expectUntold(parent: Run, child: Run): Promise<void> {
      const before = await state(parent, "*");
      expect(await endAgain(child)).toMatchObject({ status: "completed", others: [] });
      expect(await state(parent, "*")).toEqual(before);
    }

    describe("reads its end", () => {
      test.each(all)("is waited for, by a %s first; its parent's row is locked %s", async (verb, _, ids) => {
        const { parent, child } = await anUntakenEnd(stage, ids);
        const [, claimed] = await stage.collide({ first: beginAgain(child, verb), second: read(parent) });
        expect(claimed).toMatchObject({ outcome: "claimed", children: null });
        await finish(parent)(stage.onlooker);
        expect(await endAgain(child)).toMatchObject({ others: [{ runId: parent.id }] });
        expect(await waits(parent)).toEqual([{ bond: "cancel", status: "completed" }]);
      });

      test.each(all)(
        "has ended for its parent, by a %s after it; its parent's row is locked %s",
        async (verb, _, ids) => {
          const { parent, child } = await anUntakenEnd(stage, ids);
          const [claimed] = await stage.collide({ first: read(parent), second: beginAgain(child, verb) });
          expect(claimed).toMatchObject({ children: { ends: [{ path: "it", status: "failed" }] } });
          expect(await waits(parent)).toEqual(untold);
          expect(await finish(parent, taken)(stage.onlooker)).toMatchObject({ outcome: "finished" });
          expect(await waits(parent)).toEqual([]);
          expect(await asked(child)).toBeNull();
          await expectUntold(parent, child);
        },
      );
    });

    describe("takes its end", () => {
      test.each(all)("is waited for no more, by a %s first; its parent's row is locked %s", async (verb, _, ids) => {
        const { parent, child } = await anUntakenEnd(stage, ids);
        await read(parent)(stage.onlooker);
        const [, told] = await stage.collide({ first: beginAgain(child, verb), second: finish(parent, taken) });
        expect(told).toMatchObject({ outcome: "finished" });
        expect([await waits(parent), await asked(child)]).toEqual([[], null]);
        await expectUntold(parent, child);
      });

      test.each(all)("is waited for no more, by a %s after it; its parent's row is locked %s", async (verb, _, ids) => {
        const { parent, child } = await anUntakenEnd(stage, ids);
        await read(parent)(stage.onlooker);
        await stage.collide({ first: finish(parent, taken), second: beginAgain(child, verb) });
        expect([await waits(parent), await asked(child)]).toEqual([[], null]);
        await expectUntold(parent, child);
      });
    });

    /** How the parent's finish leaves the run without having taken its end. */
    const ways = {
      ends: [{ next: "completed", value: "0null" }, []],
      closes: [{ next: "ready", closing: true }, [{ bond: "cancelled", status: null }]],
      "has it lose a race": [{ released: [{ prefix: "it", position: 0 }] }, [{ bond: "cancelled", status: null }]],
    } as const;
    const leaving = Object.entries(ways).flatMap(([name, [how, left]]) =>
      all.map(([verb, order, ids]) => [name, verb, order, ids, how, left] as const),
    );

    test.each(leaving)(
      "%s is asked to end, by a %s first; its parent's row is locked %s",
      async (_, verb, _order, ids, how, left) => {
        const { parent, child } = await anUntakenEnd(stage, ids);
        await read(parent)(stage.onlooker);
        const [, told] = await stage.collide({ first: beginAgain(child, verb), second: finish(parent, how) });
        expect(told).toMatchObject({ outcome: "finished", others: [{ runId: child.id }] });
        expect([await waits(parent), await asked(child)]).toEqual([left, isAsked]);
      },
    );

    test.each(leaving)(
      "%s is left alone, by a %s after it; its parent's row is locked %s",
      async (_, verb, _order, ids, how) => {
        const { parent, child } = await anUntakenEnd(stage, ids);
        await read(parent)(stage.onlooker);
        const [told] = await stage.collide({ first: finish(parent, how), second: beginAgain(child, verb) });
        expect(told).toMatchObject({ outcome: "finished" });
        expect([await waits(parent), await asked(child)]).toEqual([[], null]);
      },
    );

    test("has left it by a claim that closed it is asked to end by the next finish", async () => {
      const { parent, child } = await anUntakenEnd(stage, orders[0][1]);
      await parent.operate(stage.onlooker, "cancel");
      await read(parent)(stage.onlooker);
      await beginAgain(child, "retry")(stage.onlooker);
      const record = aRecord("step", "tidy");
      const told = await finish(parent, { position: 1, next: "ready", records: [record] })(stage.onlooker);
      expect(told).toMatchObject({ outcome: "finished", others: [{ runId: child.id }] });
      expect([await waits(parent), await asked(child)]).toEqual([[{ bond: "cancelled", status: null }], isAsked]);
    });

    const standing = "child_status = 'failed', child_ended_at = layover.now()";
    const gone = "child_status = null, child_ended_at = null";
    const one = (turn: object) => [turn];
    const finishes: readonly (readonly [
      what: string,
      turns: (turn: object, other: object) => object[],
      how: object,
    ])[] = [
      ["ends", one, ways.ends[0]],
      ["ends, in a call with another finish,", (turn, other) => [turn, other], ways.ends[0]],
      ["goes on, after a deferred finish has left it,", one, { next: "ready", records: [aRecord("step", "a")] }],
    ];

    test.each(finishes)("%s is locked ahead of it, as in every call", async (_, turns, how) => {
      const other = await aRunAtWork(stage, { runId: idOf(3) });
      const { parent, child } = await anUntakenEnd(stage, orders[1][1]);
      await read(parent)(stage.onlooker);
      await beginAgain(child, "retry")(stage.onlooker);
      await setWaits(parent, `${standing}, is_released = ${!("value" in how)}`);
      const hold = (run: Run) => stage.hold("select from layover.run_state where run_id = $1 for update", [run.id]);
      const [holder, finishing] = [await hold(parent), await stage.session("finishing")];
      const items = turns(
        parent.toFinish({ token: "second", ...how }),
        other.toFinish({ token: "first", next: "ready" }),
      );
      const told = finishing.call("finish_turns", { ...terms, turns: items });
      await finishing.untilBlocked(holder);
      await setWaits(parent, gone); // as the retry does it
      const holderOfChild = await hold(child);
      await holder.commit();
      await finishing.untilBlocked(holderOfChild);
      expect(await isFree(`from layover.run_state where run_id = '${parent.id}'`)).toBe(true);
      await holderOfChild.commit();
      expect((await told).turns).toContainEqual(expect.objectContaining({ others: [{ runId: child.id, turn: 3 }] }));
    });

    test("goes on leaves it to wait for what else it asked for", async () => {
      const { parent, child } = await anUntakenEnd(stage, orders[0][1]);
      await read(parent)(stage.onlooker);
      await beginAgain(child, "retry")(stage.onlooker);
      await finish(parent, { demands: [aDemand("sleep", "nap", { until: soon })] })(stage.onlooker);
      expect(await parent.state()).toMatchObject({ status: "parked", readyAt: soon, dueAt: soon });
    });
  },
  { perTest: true },
);
