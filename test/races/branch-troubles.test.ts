/** A branch that did not get on: its own row says so, and no other; and its run is looked at in time. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { noteOn } from "./deploying.ts";
import { aDemand, aParkedRun, at, branches, minute, noon, type Run, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a branch that does not get on",
  (database) => {
    const stage = stageOn(database, { breaks: ["due may be early, never late (by more than two minutes)"] });
    const later = noon + 60 * minute;
    const demands = [...branches(["a", "b"]), { ...aDemand("branch", "a"), occurrence: 2, ordinal: 3 }];
    const worn = "update layover.pending set claims = 3, beginnings = 3, lost = 1";
    const rows = async () =>
      (await stage.look("select run_id, path, occurrence, claims, beginnings, lost from layover.pending")).filter(
        ({ claims, beginnings, lost }) => claims !== 3 || beginnings !== 3 || lost !== 1,
      );
    /** It is at work, and everything in both runs is worn. */
    const twoRuns = async () => {
      const [run, other] = [await aParkedRun(stage, demands), await aParkedRun(stage, demands)];
      await run.claimBranch(stage.onlooker, "a", { token: "a" });
      await stage.onlooker.query(worn);
      return { run, other };
    };
    const own = (run: Run) => ({ run_id: run.id, path: "a", occurrence: 1 });

    test("and is set back has begun nothing and lost nothing any more", async () => {
      const { run } = await twoRuns();
      const setback = { token: "a", setback: "it took too long" };
      expect(await run.finishBranch(stage.onlooker, "a", setback)).toMatchObject({ outcome: "finished" });
      expect(await rows()).toMatchObject([{ ...own(run), beginnings: 0, lost: 0 }]);
    });

    test("for its code blocks its run where the process names no deployment, and forgets none that has refused it", async () => {
      const { run } = await twoRuns();
      await stage.onlooker.query(`update layover.run_state set refused_by = '{"blue": {}}' where run_id = $1`, [
        run.id,
      ]);
      const finish = { token: "a", blocked: "no such step" };
      expect(await run.finishBranch(stage.onlooker, "a", finish)).toMatchObject({
        outcome: "finished",
        isReady: false,
      });
      const rows = await stage.look("select blocked, refused_by from layover.run_state where run_id = $1", [run.id]);
      expect(rows).toEqual([{ blocked: "no such step", refused_by: { blue: {} } }]);
    });

    describe("for its code, which another deployment may have", () => {
      const refuse = async (run: Run) => {
        for (const deployment of ["blue", "green"]) await noteOn(stage)(deployment, deployment);
        await stage.look("update layover.run_state set due_at = layover.from_ms($1) where paused_at is null", [later]);
        const finish = { ...run.toFinishBranch("a", { token: "a", blocked: "no such step" }), deployment: "green" };
        return (await stage.onlooker.call("finish_turns", { ...terms, turns: [{ ...finish, ...at("a") }] })).turns[0];
      };

      test("is left to that, as if nothing had happened, and its run alone is looked at soon", async () => {
        const { run, other } = await twoRuns();
        expect(await refuse(run)).toMatchObject({ outcome: "finished", isReady: true });
        expect(await rows()).toMatchObject([{ ...own(run), claims: 0, beginnings: 0, lost: 0 }]);
        expect([(await run.state())["dueAt"], (await other.state())["dueAt"]]).toEqual([soon, later]);
      });

      test("is left to that once its run is paused no more", async () => {
        const { run } = await twoRuns();
        await run.operate(stage.onlooker, "pause");
        expect(await refuse(run)).toMatchObject({ outcome: "finished", isReady: false });
        expect(await run.state()).toMatchObject({ dueAt: null, blocked: null });
      });
    });
  },
  { perTest: true },
);
