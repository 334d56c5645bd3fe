/** One call for a run and its branches takes their locks in the one order, and waits for none that it does not need. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild, idOf } from "./invoking.ts";
import { isFreeOn } from "./lock-order.ts";
import { aParkedRun, aRunAtWork, at, branches, Run, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "one call for a run and its branches",
  (database) => {
    const stage = stageOn(database);
    const isFree = isFreeOn(stage);
    const lock = (session: Session, { id }: Run) =>
      session.query("select from layover.run_state where run_id = $1 for update", [id]);
    const record = async (run: Run, path: string) => {
      await run.claimBranch(stage.onlooker, path, { token: path });
      await run.finishBranch(stage.onlooker, path, { token: path });
    };

    test("locks the run before it claims a branch, though both are claimed", async () => {
      const run = await aParkedRun(stage, branches(["a", "b"]));
      await record(run, "b");
      const turns = [run.toClaim({ token: "second", turn: 2 }), { ...run.toClaim({ token: "a" }), ...at("a") }];
      let wasFree = false;
      const [, { turns: answers }] = await stage.collide({
        first: (session) => lock(session, run),
        second: (session) => session.call("claim_turns", { ...terms, turns }),
        meanwhile: async () => {
          wasFree = await isFree("from layover.pending where path = 'a'");
        },
      });
      expect(wasFree).toBe(true);
      expect(answers).toMatchObject([{ outcome: "claimed" }, { outcome: "claimed" }]);
    });

    describe("with a loser of a race that is still at work", () => {
      /** It waits for `a`, `b` and `c`, and its next turn is ready. */
      const aRunWithALoser = async () => {
        const run = await aParkedRun(stage, branches(["race/one", "race/two", "a", "b", "c"]));
        await run.claimBranch(stage.onlooker, "race/two", { token: "race/two" });
        await record(run, "race/one");
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        const released = [{ prefix: "race/", position: 1 }];
        await run.finish(stage.onlooker, { token: "second", position: 1, next: "ready", released });
        await stage.onlooker.query("set statement_timeout = '5s'");
        return run;
      };

      test("claims branches without waiting for the run, though one of them is not ready", async () => {
        const run = await aRunWithALoser();
        await lock(await stage.hold("select"), run);
        const turns = [
          { ...run.toClaim({ token: "a" }), ...at("a") },
          { ...run.toClaim({ token: "b", turn: 7 }), ...at("b") },
        ];
        const { turns: answers } = await stage.onlooker.call("claim_turns", { ...terms, turns });
        expect(answers).toMatchObject([{ outcome: "claimed" }, { outcome: "stale" }]);
      });

      test("finishes the run without waiting for a branch that it does not finish", async () => {
        const run = await aRunWithALoser();
        await run.claim(stage.onlooker, { token: "third", turn: 3 });
        await run.claimBranch(stage.onlooker, "a", { token: "a" });
        await stage.hold("select from layover.pending where path = 'c' for update");
        const turns = [
          run.toFinish({ token: "third", position: 1, next: "ready" }),
          run.toFinishBranch("a", { token: "a" }),
        ];
        const { turns: answers } = await stage.onlooker.call("finish_turns", { ...terms, turns });
        expect(answers).toMatchObject([{ outcome: "finished" }, { outcome: "finished" }]);
      });
    });

    test("locks the parent of a run before the run that is to ask a child to end", async () => {
      const parent = await aRunAtWork(stage, { runId: idOf(1) });
      await parent.finish(stage.onlooker, { token: "first", children: [aChild("it", { runId: idOf(2) })] });
      const run = new Run(stage, idOf(2));
      await run.claim(stage.onlooker, { token: "first" });
      const child = aChild("race/it", { runId: idOf(3), isBound: true, ordinal: 9 });
      await run.finish(stage.onlooker, { token: "first", children: [child], demands: branches(["a", "b", "c"]) });
      await record(run, "b");
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      await record(run, "c");
      const released = [{ prefix: "race/", position: 1 }];
      const deferred = await run.finish(stage.onlooker, { token: "second", position: 1, released });
      expect(deferred).toMatchObject({ outcome: "deferred" });
      await run.claim(stage.onlooker, { token: "third", turn: 3 });
      await run.claimBranch(stage.onlooker, "a", { token: "a" });
      const turns = [
        run.toFinish({ token: "third", position: 2, next: "ready" }),
        run.toFinishBranch("a", { token: "a" }),
      ];
      let wasFree = false;
      const [, { turns: answers }] = await stage.collide({
        first: (session) => lock(session, parent),
        second: (session) => session.call("finish_turns", { ...terms, turns }),
        meanwhile: async () => {
          wasFree = await isFree(`from layover.run_state where run_id = '${run.id}'`);
        },
      });
      expect(wasFree).toBe(true);
      const others = [{ runId: child.runId, turn: 1 }];
      expect(answers).toMatchObject([{ outcome: "finished", others }, { outcome: "finished" }]);
    });
  },
  { perTest: true },
);
