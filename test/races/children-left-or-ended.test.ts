/** A run ends while a finish of its parent leaves it: in either order the parent is not told, and stands as if it never waited. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { childOf, idOf } from "./invoking.ts";
import { rowsOn } from "./rows.ts";
import { aRecord, aRunAtWork, aWaitFor, minute, noon, Run, second } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const now = noon + 2 * second;
const { value: _, ...late } = aRecord("child", "it", { at: now });
const demands = [aWaitFor("go", { ordinal: 2 })];

/** How the finish of the parent's second turn leaves the run. Then the parent waits for a signal, is ready (`ready` 0), or is over. */
const ways = {
  "it has lost a race": {
    finish: { demands, released: [{ prefix: "it", position: 0 }] },
    status: "parked",
    ready: null,
  },
  "it comes too late": { finish: { demands, records: [late] }, status: "parked", ready: null },
  "its parent closes": { finish: { next: "ready", closing: true }, status: "parked", ready: 0 },
  "its parent ends": { finish: { next: "completed", value: "0null" }, status: "completed", ready: null },
  "its parent continues as new": { finish: { next: "ready", continues: "0{}" }, status: "parked", ready: 0 },
} as const;
type Way = (typeof ways)[keyof typeof ways];
const { "its parent closes": closes, ...others } = ways;

/** Each way twice: the parent's row is locked before that of the run, and after it. */
const inBothOrders = (of: Readonly<Record<string, Way>>) =>
  Object.entries(of).flatMap(([name, way]) => [
    [name, "first", way, [idOf(1), idOf(2)]] as const,
    [name, "last", way, [idOf(2), idOf(1)]] as const,
  ]);

describeSomePostgres(
  "a run that ends while its parent leaves it",
  (database) => {
    const stage = stageOn(database);
    const { state } = rowsOn(stage);

    /** The parent waits for the run until a second after noon, which has passed; it is in its second turn. The run is at work. */
    async function aFamily([parentId, childId]: readonly [string, string], isBound = true) {
      const parent = await aRunAtWork(stage, { runId: parentId });
      const start = childOf(childId, "it", { until: noon + second, ...(isBound && { isBound }) });
      await parent.finish(stage.onlooker, { token: "first", children: [start] });
      const child = new Run(stage, childId);
      await child.claim(stage.onlooker, { token: "child" });
      await stage.clock.set(now);
      await parent.claim(stage.onlooker, { turn: 2, token: "second" });
      return { parent, child };
    }
    const leave =
      (parent: Run, { finish }: Way) =>
      (session: Session) =>
        parent.finish(session, { token: "second", ...finish });
    const complete = (child: Run) => (session: Session) =>
      child.finish(session, { token: "child", next: "completed", value: '0"done"' });
    const cancelled = { position: 1, next: "cancelled", value: "0{}" } as const;
    const waits = (run: Run) =>
      stage.look(
        "select child_bond as bond, child_status as status, is_released from layover.pending where run_id = $1 and kind = 'child'",
        [run.id],
      );
    const asked = async (run: Run) => (await state(run, "cancel_reason"))?.["cancel_reason"];
    const isAsked = "its parent waits for it no more";

    /** The parent is not told of the end, and is ready or waits as its finish said. */
    async function expectUntold(parent: Run, { status, ready }: Way): Promise<void> {
      const row = await state(
        parent,
        "status, has_mail, layover.to_ms(ready_at)::float8 as ready, due_at is not null as due",
      );
      if (status === "completed") expect(row).toMatchObject({ status, ready, due: false });
      else expect(row).toEqual({ status, has_mail: false, ready, due: ready !== null });
    }
    /** It goes on without an end to take. */
    async function expectToGoOn(parent: Run, { status, ready, finish }: Way): Promise<void> {
      if (status === "completed" || "continues" in finish) return;
      if (ready === null) await parent.signal(stage.onlooker, "go");
      const claimed = await parent.claim(stage.onlooker, { turn: 3, token: "third" });
      expect(claimed).toMatchObject({ outcome: "claimed" });
      expect("children" in claimed ? claimed.children : null).toBeNull();
    }

    describe("is not asked to end, and its row is gone, where the finish waits for its end:", () => {
      test.each(inBothOrders(ways))("%s, whose row is locked %s", async (_, _order, way, ids) => {
        const { parent, child } = await aFamily(ids);
        const [ended, left] = await stage.collide({ first: complete(child), second: leave(parent, way) });
        expect(ended).toMatchObject({ outcome: "finished", status: "completed", others: [] });
        expect(left).toMatchObject({ outcome: "finished", turn: 3, status: way.status, isReady: way.ready === 0 });
        expect(left).not.toHaveProperty("others");
        expect([await asked(child), await child.state()]).toMatchObject([null, { status: "completed" }]);
        expect(await waits(parent)).toEqual([]);
        await expectUntold(parent, way);
        await expectToGoOn(parent, way);
      });
    });

    describe("is asked to end, and its end that waits for the finish is dropped:", () => {
      test.each(inBothOrders(ways))("%s, whose row is locked %s", async (_, _order, way, ids) => {
        const { parent, child } = await aFamily(ids);
        const [left, ended] = await stage.collide({ first: leave(parent, way), second: complete(child) });
        expect(left).toMatchObject({ outcome: "finished", others: [{ runId: child.id, turn: 1 }] });
        expect(ended).toMatchObject({ outcome: "finished", status: "parked", isReady: true });
        expect([await asked(child), await child.state()]).toMatchObject([isAsked, { isReady: true, result: null }]);
        const isKept = !(way.status === "completed" || "continues" in way.finish);
        expect(await waits(parent)).toEqual(isKept ? [{ bond: "cancelled", status: null, is_released: true }] : []);
        await expectUntold(parent, way);
        if (way === closes) {
          const later = { outcome: "not_ready", readyAt: now + 24 * 60 * minute };
          expect(await parent.claim(stage.onlooker, { turn: 3, token: "third" })).toEqual(later);
        }
        await child.claim(stage.onlooker, { turn: 2, token: "again" });
        const last = await child.finish(stage.onlooker, { token: "again", ...cancelled });
        expect(last).toMatchObject({
          status: "cancelled",
          others: way === closes ? [{ runId: parent.id, turn: 3 }] : [],
        });
        expect(await waits(parent)).toEqual([]);
        await expectUntold(parent, way);
        await expectToGoOn(parent, way);
      });
    });

    describe("and that cleans up after a cancel of its own ends by the end that waits for the finish:", () => {
      test.each(inBothOrders(ways))("%s, whose row is locked %s", async (_, _order, way, ids) => {
        const { parent, child } = await aFamily(ids);
        await child.operate(stage.onlooker, "cancel");
        await child.finish(stage.onlooker, { token: "child", next: "ready" });
        await child.claim(stage.onlooker, { turn: 2, token: "cleanup" });
        const [left, ended] = await stage.collide({
          first: leave(parent, way),
          second: (session) => child.finish(session, { token: "cleanup", ...cancelled }),
        });
        expect(left).not.toHaveProperty("others");
        expect(ended).toMatchObject({
          status: "cancelled",
          others: way === closes ? [{ runId: parent.id, turn: 3 }] : [],
        });
        expect(await asked(child)).toBe("to see");
        expect(await waits(parent)).toEqual([]);
        await expectUntold(parent, way);
        await expectToGoOn(parent, way);
      });
    });

    describe("and need not end with its parent", () => {
      test.each(inBothOrders(others))(
        "ends ahead of the finish: %s, whose row is locked %s",
        async (_, _order, way, ids) => {
          const { parent, child } = await aFamily(ids, false);
          const [ended, left] = await stage.collide({ first: complete(child), second: leave(parent, way) });
          expect([ended, left]).toMatchObject([{ status: "completed", others: [] }, { status: way.status }]);
          expect(await waits(parent)).toEqual([]);
          await expectUntold(parent, way);
          await expectToGoOn(parent, way);
        },
      );

      test.each(inBothOrders(ways))(
        "ends after the finish: %s, whose row is locked %s",
        async (_, _order, way, ids) => {
          const { parent, child } = await aFamily(ids, false);
          const [left, ended] = await stage.collide({ first: leave(parent, way), second: complete(child) });
          expect(left).not.toHaveProperty("others");
          expect(ended).toMatchObject({ status: "completed" });
          expect([await asked(child), await waits(parent)]).toEqual([null, []]);
          await expectUntold(parent, way);
          await expectToGoOn(parent, way);
        },
      );
    });
  },
  { perTest: true },
);
