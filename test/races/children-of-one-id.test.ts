/** One id that a user gives to a run, by a start and by a parent, or by two parents at one time: who commits first has it. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild, startingOn } from "./invoking.ts";
import { aRunAtWork, aStart, type Run } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const taken = { code: "conflict", message: 'the id "o1" of workflow "flow" is taken by another run' };
const ways = [
  ["invokes it", {}],
  ["starts it and does not wait", { isDetached: true }],
] as const;

describeSomePostgres(
  "a run whose id is o1",
  (database) => {
    const stage = stageOn(database);
    const { made, records, waits } = startingOn(stage);
    const start =
      (runId: string, encodedInput = "0{}") =>
      (session: Session) =>
        session.call("start_run", { ...aStart(runId), id: "o1", encodedInput });
    const finish =
      (parent: Run, runId: string, more: object = {}) =>
      (session: Session) =>
        parent.finish(session, { token: "first", children: [aChild("it", { id: "o1", runId, ...more })] });
    const idsOfO1 = async () =>
      (await stage.look("select id from layover.run where user_id = 'o1'")).map(({ id }) => id);

    /** It has started no run and waits for none: its history says that the id is taken. */
    async function expectConflict(parent: Run) {
      expect([await made(parent), await waits(parent)]).toEqual([[], []]);
      const [record, ...others] = await records(parent);
      expect([record, others]).toMatchObject([{ kind: "start", path: "it", position: 1, is_failure: true }, []]);
      expect(JSON.parse(String(record?.["value"]).slice(1))).toMatchObject(taken);
    }

    /** It has started this run, and waits for it if it has invoked it. */
    async function expectStarted(parent: Run, runId: string, { isDetached = false } = {}) {
      expect([await made(parent), await idsOfO1()]).toEqual([[runId], [runId]]);
      expect(await waits(parent)).toMatchObject(isDetached ? [] : [{ path: "it", child_run_id: runId }]);
      expect(await records(parent)).toMatchObject(isDetached ? [{ path: "it", is_failure: false }] : []);
    }

    describe.each(ways)("that a start makes, and a parent that %s", (_, way) => {
      test("is a conflict for the parent that waited for the start", async () => {
        const parent = await aRunAtWork(stage);
        const runId = randomUUID();
        const [started, told] = await stage.collide({ first: start(runId), second: finish(parent, randomUUID(), way) });
        expect([started, told]).toMatchObject([
          { outcome: "started", runId },
          { outcome: "finished", isReady: true },
        ]);
        await expectConflict(parent);
        expect(await idsOfO1()).toEqual([runId]);
      });

      test("is the parent's where the start rolls back for which it waited", async () => {
        const parent = await aRunAtWork(stage);
        const runId = randomUUID();
        const [, told] = await stage.collide({
          first: start(randomUUID()),
          second: finish(parent, runId, way),
          ends: "rollback",
        });
        expect(told).toMatchObject({ outcome: "finished", hasStarted: true });
        await expectStarted(parent, runId, way);
      });

      test.each([
        ["exists for a start with the same input", "0{}", (runId: string) => ({ outcome: "exists", runId })],
        ["is a conflict for a start with another input", "01", (runId: string) => ({ outcome: "conflict", runId })],
      ] as const)("%s that waited for the parent", async (_, encodedInput, expected) => {
        const parent = await aRunAtWork(stage);
        const runId = randomUUID();
        const [, told] = await stage.collide({
          first: finish(parent, runId, way),
          second: start(randomUUID(), encodedInput),
        });
        expect(told).toMatchObject(expected(runId));
        await expectStarted(parent, runId, way);
      });

      test("is the start's where the parent's finish rolls back for which it waited", async () => {
        const parent = await aRunAtWork(stage);
        const runId = randomUUID();
        const [, told] = await stage.collide({
          first: finish(parent, randomUUID(), way),
          second: start(runId),
          ends: "rollback",
        });
        expect(told).toMatchObject({ outcome: "started", runId });
        expect([await made(parent), await waits(parent), await records(parent)]).toEqual([[], [], []]);
        expect(await idsOfO1()).toEqual([runId]);
      });
    });

    describe.each(ways)("that a parent invokes, and another one that %s", (_, way) => {
      const twoParents = async () => [await aRunAtWork(stage), await aRunAtWork(stage)] as const;

      test("is a conflict for the one that waited", async () => {
        const [one, other] = await twoParents();
        const runId = randomUUID();
        const [, told] = await stage.collide({
          first: finish(one, runId),
          second: finish(other, randomUUID(), way),
        });
        expect(told).toMatchObject({ outcome: "finished", isReady: true });
        await expectConflict(other);
        await expectStarted(one, runId);
      });

      test("belongs to the one that waited, where the first one rolls back", async () => {
        const [one, other] = await twoParents();
        const runId = randomUUID();
        await stage.collide({ first: finish(one, randomUUID()), second: finish(other, runId, way), ends: "rollback" });
        await expectStarted(other, runId, way);
        expect([await made(one), await waits(one), await records(one)]).toEqual([[], [], []]);
      });
    });
  },
  { perTest: true },
);
