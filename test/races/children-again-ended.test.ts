/** A run ends while its parent, which was retried, asks for it again: its end is told in either order, and once. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { childOf, failedParentsOn, startingOn } from "./invoking.ts";
import { repairsOn } from "./next-epochs.ts";
import { rowsOn } from "./rows.ts";
import { aRecord, aRunAtWork, noon, Run, soon, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

/** The id of a run, and the one that its parent makes when it asks for it again: only the time in it is another one. */
const [before, after] = ["0197a000-0000-7000-8000-00000000000a", "01980000-0000-7000-8000-00000000000a"];

describeSomePostgres(
  "a run that ends while its retried parent asks for it again",
  (database) => {
    const stage = stageOn(database);
    const { made, records, waits } = startingOn(stage);
    const { repair, claim } = repairsOn(stage);
    const { state } = rowsOn(stage);
    const failedParent = failedParentsOn(stage);

    /** The run is at work, and its parent has failed without having taken its end. */
    const aFailedParent = (runId: string) => failedParent(childOf(before, "it"), runId);
    /** The first turn after its retry is under way. */
    async function aRetriedParent(runId: string) {
      const family = await aFailedParent(runId);
      expect(await repair(family.parent, "retry")).toMatchObject({ outcome: "retried", kept: 0 });
      await claim(family.parent, "again");
      return family;
    }
    const ask = (parent: Run) => (session: Session) =>
      parent.finish(session, { token: "again", children: [childOf(after, "it")] });
    const end = (child: Run, next: "completed" | "failed") => (session: Session) =>
      child.finish(session, { token: "child", next, value: '0"how"' });

    /** The run has failed, too. The first turns after the retries of both are under way. */
    async function aRetriedFamily(runId: string) {
      const { parent, child } = await aFailedParent(runId);
      await end(child, "failed")(stage.onlooker);
      for (const run of [child, parent]) expect(await repair(run, "retry")).toMatchObject({ outcome: "retried" });
      await claim(child, "back");
      await claim(parent, "again");
      return { parent, child };
    }
    /** The code of its turn does not fit. So the retry is taken back, and the run has failed as before. */
    const refused = { token: "back", next: "blocked", value: "no such step" } as const;
    const refuse = (child: Run) => (session: Session) => child.finish(session, refused);

    /** The parent has the end in its row, and nowhere else; it is ready, and its next turn takes that end. */
    async function expectToldOnce(
      parent: Run,
      child: Run,
      status: "completed" | "failed",
      again: (session: Session) => Promise<unknown> = end(child, status),
    ): Promise<void> {
      expect(await made(parent)).toEqual([before]);
      expect(await waits(parent)).toMatchObject([{ path: "it", child_run_id: before, child_status: status }]);
      expect(
        await state(parent, "status, has_mail, ready_at = 'epoch' as ready, layover.to_ms(due_at)::float8 as due"),
      ).toEqual({ status: "parked", has_mail: true, ready: true, due: soon });
      const { turn } = await parent.state();
      const turns = [parent.toClaim({ turn: Number(turn), token: "takes" })];
      expect(await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns })).toMatchObject({
        turns: [{ outcome: "claimed", children: { ends: [{ path: "it", status, value: '0"how"', endedAt: noon }] } }],
      });
      const record = aRecord("child", "it", { value: '0"how"', isFailure: status === "failed" });
      await parent.finish(stage.onlooker, { token: "takes", records: [record] });
      expect(await again(stage.onlooker)).toMatchObject({ outcome: "finished", status }); // it comes again
      expect(await waits(parent)).toEqual([]);
      expect(await state(parent, "has_mail, ready_at")).toEqual({ has_mail: false, ready_at: null });
      expect((await records(parent)).filter(({ epoch }) => epoch === 1)).toMatchObject([{ kind: "child", path: "it" }]);
    }

    const parents = { later: "019b0000-0000-7000-8000-000000000001", earlier: "00000000-0000-7000-8000-000000000001" };
    const all = (["completed", "failed"] as const).flatMap((status) =>
      Object.entries(parents).map(([order, runId]) => [status, order, runId] as const),
    );

    describe("is told by the finish that waits for its end:", () => {
      test.each(all)("it has %s, and its parent's id is %s", async (status, _, runId) => {
        const { parent, child } = await aRetriedParent(runId);
        const [ended, asked] = await stage.collide({ first: end(child, status), second: ask(parent) });
        expect(ended).toMatchObject({ outcome: "finished", status, others: [] });
        expect(asked).toMatchObject({ outcome: "finished", hasStarted: true, isReady: true, others: [] });
        await expectToldOnce(parent, child, status);
      });
    });

    describe("is told by its end that waits for the finish:", () => {
      test.each(all)("it has %s, and its parent's id is %s", async (status, _, runId) => {
        const { parent, child } = await aRetriedParent(runId);
        const [asked, ended] = await stage.collide({ first: ask(parent), second: end(child, status) });
        expect(asked).toMatchObject({ outcome: "finished", hasStarted: true, isReady: false, others: [] });
        expect(ended).toMatchObject({ outcome: "finished", status, others: [{ runId }] });
        await expectToldOnce(parent, child, status);
      });
    });

    describe("is told if its own retry is taken back:", () => {
      const orders = Object.entries(parents);

      test.each(orders)("by the finish that waits for that; its parent's id is %s", async (_, runId) => {
        const { parent, child } = await aRetriedFamily(runId);
        const [, asked] = await stage.collide({ first: refuse(child), second: ask(parent) });
        expect(asked).toMatchObject({ outcome: "finished", hasStarted: true, isReady: true, others: [] });
        await expectToldOnce(parent, child, "failed", refuse(child));
      });

      test.each(orders)("where that waits for the finish; its parent's id is %s", async (_, runId) => {
        const { parent, child } = await aRetriedFamily(runId);
        const [, ended] = await stage.collide({ first: ask(parent), second: refuse(child) });
        expect(ended).toMatchObject({ outcome: "finished", status: "failed", others: [{ runId }] });
        await expectToldOnce(parent, child, "failed", refuse(child));
      });

      test.each(orders)("in a set of finishes; its parent's id is %s", async (_, runId) => {
        const { parent, child } = await aRetriedFamily(runId);
        await ask(parent)(stage.onlooker);
        const other = await aRunAtWork(stage);
        const turns = [other.toFinish({ token: "first", next: "parked" }), child.toFinish(refused)];
        const told = await stage.onlooker.call("finish_turns", { turns, armed: [soon] });
        expect(told).toMatchObject({ turns: [{}, { status: "failed", others: [{ runId }] }] });
        await expectToldOnce(parent, child, "failed", refuse(child));
      });
    });

    const retry = (parent: Run) => (session: Session) =>
      session.call("retry_run", { runId: parent.id, callId: "ffffffff-ffff-7000-8000-000000000001", armed: [soon] });

    test("keeps a retry away that waits for its failure", async () => {
      const { parent, child } = await aFailedParent(parents.later);
      const [, told] = await stage.collide({ first: end(child, "failed"), second: retry(parent) });
      expect(told).toMatchObject({ outcome: "child_failed", children: [before] });
    });

    test("tells its failure to the parent whose retry it waited for", async () => {
      const { parent, child } = await aFailedParent(parents.later);
      const [told] = await stage.collide({ first: retry(parent), second: end(child, "failed") });
      expect(told).toMatchObject({ outcome: "retried" });
      await claim(parent, "again");
      expect(await ask(parent)(stage.onlooker)).toMatchObject({ isReady: true });
      await expectToldOnce(parent, child, "failed");
    });

    test("is told as the same stored value again, where its parent had been told before it failed", async () => {
      const parent = await aRunAtWork(stage);
      await parent.finish(stage.onlooker, { token: "first", children: [childOf(before, "it")] });
      const child = new Run(stage, before);
      await child.claim(stage.onlooker, { token: "child" });
      const values = [{ runId: before, key: "own", bytes: 7 }];
      await stage.onlooker.call("hold_values", { namespace: "default", values });
      const value = `2stored.7.${"0".repeat(64)}.own`;
      await child.finish(stage.onlooker, { token: "child", next: "completed", value });
      const holders = () => stage.look("select run_id from layover.stored_value where key = 'own' order by run_id");
      const held = await holders();
      expect(held).toHaveLength(2);
      await parent.claim(stage.onlooker, { turn: 2, token: "second" });
      const failure = { at: 1, timeouts: [], lost: [], repeats: [] };
      const records = [aRecord("step", "a", { isFailure: true })];
      await parent.finish(stage.onlooker, { token: "second", records, next: "failed", value: "0{}", failure });
      await repair(parent, "retry");
      await claim(parent, "again");
      expect(await ask(parent)(stage.onlooker)).toMatchObject({ outcome: "finished", isReady: true });
      expect(await waits(parent)).toMatchObject([{ child_run_id: before, child_status: "completed" }]);
      expect(await holders()).toEqual(held);
    });
  },
  { perTest: true },
);
