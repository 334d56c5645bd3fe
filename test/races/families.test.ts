/** A call that ends a run locks that run, its parent, and the runs that it asks to end. It locks no other run. */
import { beforeEach, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild, freshIds } from "./invoking.ts";
import { locksByPath } from "./lock-order.ts";
import { aRecord, aRun, aRunAtWork, branches, Run, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "among families",
  (database) => {
    const stage = stageOn(database);
    const aFamily = async () => {
      const parent = await aRunAtWork(stage);
      const child = aChild("it", { isBound: true });
      await parent.finish(stage.onlooker, { token: "first", children: [child] });
      return { parent, child: new Run(stage, child.runId) };
    };
    const hold = ({ id }: Run) => stage.hold("select from layover.run_state where run_id = $1 for update", [id]);

    beforeEach(async () => {
      await stage.onlooker.query("set statement_timeout = '5s'");
    });

    test("the cancel of a run waits for no other family, nor for a run that has ended before", async () => {
      const [one, other] = [await aFamily(), await aFamily()];
      await one.child.operate(stage.onlooker, "terminate");
      for (const run of [other.parent, other.child, one.child]) await hold(run);
      expect(await one.parent.operate(stage.onlooker, "cancel")).toMatchObject({ outcome: "cancelling" });
      expect(await (await aRun(stage)).operate(stage.onlooker, "cancel")).toMatchObject({ outcome: "cancelled" });
    });

    test("the pause of a page waits for none that has invoked the runs", async () => {
      const { parent: runId, one } = freshIds();
      const parent = await aRunAtWork(stage, { runId });
      await parent.finish(stage.onlooker, { token: "first", children: [aChild("it", { runId: one })] });
      await hold(parent);
      const page = { filter: { workflow: "flow", status: "queued" }, limit: 10, walk: 10, armed: [soon] } as const;
      const callId = "019b799d-0000-7000-8000-0000000000ff";
      const told = await stage.onlooker.call("operate_runs", { verb: "pause", callId, ...page });
      expect(told).toMatchObject({ outcomes: { paused: 1 } });
    });

    test.each([
      ["has not come in time, for the undos that may follow", undefined, [{ isReleased: true }]],
      ["has come", "0null", []],
    ])("the wait for an end stays where that %s", async (_, value, waits) => {
      const { parent, child } = await aFamily();
      if (value === undefined) await parent.signal(stage.onlooker, "go");
      else {
        await child.claim(stage.onlooker, { token: "child" });
        await child.finish(stage.onlooker, { token: "child", next: "completed", value });
      }
      await stage.onlooker.query("update layover.run_state set ready_at = 'epoch' where run_id = $1", [parent.id]);
      await parent.claim(stage.onlooker, { token: "second", turn: 2 });
      const { value: _none, ...record } = aRecord("child", "it");
      const records = [{ ...record, ...(value !== undefined && { value }) }];
      await parent.finish(stage.onlooker, { token: "second", records });
      expect(Object.values(await parent.pending())).toMatchObject(waits);
    });

    /** A run that waits for two others, with a branch that is recorded amid its second turn. */
    const aParentOfTwo = async () => {
      const parent = await aRunAtWork(stage);
      const [it, other] = [aChild("race/it", { isBound: true }), aChild("other", { isBound: true, ordinal: 2 })];
      const demands = branches(["beside"]);
      await parent.finish(stage.onlooker, { token: "first", children: [it, other], demands });
      await parent.claimBranch(stage.onlooker, "beside", { token: "beside" });
      await goOn(parent, 2);
      return { parent, it: new Run(stage, it.runId), other: new Run(stage, other.runId) };
    };
    const goOn = async (run: Run, turn: number) => {
      await stage.onlooker.query("update layover.run_state set ready_at = 'epoch' where run_id = $1", [run.id]);
      return await run.claim(stage.onlooker, { token: `turn ${turn}`, turn });
    };

    test("a finish waits for no other run where the one that its run waits for no more was asked to end before", async () => {
      const { parent, it, other } = await aParentOfTwo();
      const { value: _none, ...tooLate } = aRecord("child", "race/it");
      await parent.finish(stage.onlooker, { token: "turn 2", records: [tooLate] });
      expect(await it.state()).toMatchObject({ isReady: true });
      expect(await parent.pending()).toMatchObject({ "race/it": { isReleased: true }, other: { isReleased: false } });
      await goOn(parent, 3);
      await hold(other);
      const told = await parent.finish(stage.onlooker, { token: "turn 3", position: 1 });
      expect(told).toMatchObject({ outcome: "finished", turn: 4 });
    });

    test("the end of a run waits for no branch of the one that waits for it", async () => {
      const parent = await aRunAtWork(stage);
      const start = aChild("it", { isBound: true });
      await parent.finish(stage.onlooker, { token: "first", children: [start], demands: branches(["a"]) });
      await stage.hold("select from layover.pending where run_id = $1 and path = 'a' for update", [parent.id]);
      const child = new Run(stage, start.runId);
      await child.claim(stage.onlooker, { token: "child" });
      const told = await child.finish(stage.onlooker, { token: "child", next: "completed", value: "0null" });
      expect(told).toMatchObject({ outcome: "finished", status: "completed" });
    });

    test("steps of two runs in one call do not wait for the run that has started them", async () => {
      const parent = await aRunAtWork(stage);
      const starts = [aChild("one", { ordinal: 1 }), aChild("two", { ordinal: 2 })];
      await parent.finish(stage.onlooker, { token: "first", children: starts });
      const children = starts.map(({ runId }) => new Run(stage, runId));
      for (const child of children) await child.claim(stage.onlooker, { token: child.id });
      await hold(parent);
      const turns = children.map((child) =>
        child.toFinish({ token: child.id, next: "ready", records: [aRecord("step", "a")] }),
      );
      const answers = (await stage.onlooker.call("finish_turns", { ...terms, turns })).turns;
      expect(answers).toMatchObject([{ outcome: "finished" }, { outcome: "finished" }]);
    });

    test("steps of two runs in one call do not wait for the runs that these have started, even if another run is about to ask some to end", async () => {
      const families = await Promise.all([aParentOfTwo(), aParentOfTwo()]);
      const { parent: third } = await aParentOfTwo();
      await stage.onlooker.query("update layover.pending set is_released = true where run_id = $1", [third.id]);
      for (const { it, other } of families) for (const run of [it, other]) await hold(run);
      const records = [aRecord("step", "a")];
      const turns = families.map(({ parent }) => parent.toFinish({ token: "turn 2", next: "ready", records }));
      const answers = (await stage.onlooker.call("finish_turns", { ...terms, turns })).turns;
      expect(answers).toMatchObject([{ outcome: "finished" }, { outcome: "finished" }]);
    });

    test("the termination of a run locks its branches by their paths", async () => {
      expect(await locksByPath(stage, (run, session) => run.operate(session, "terminate"))).toBe(true);
    });

    test("the termination of a run waits for no other family, nor for a run that has ended before", async () => {
      const [one, other] = [await aFamily(), await aFamily()];
      await one.child.operate(stage.onlooker, "terminate");
      for (const run of [other.parent, other.child, one.child]) await hold(run);
      expect(await one.parent.operate(stage.onlooker, "terminate")).toMatchObject({ outcome: "terminated" });
    });
  },
  { perTest: true },
);
