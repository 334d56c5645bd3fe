/** A branch that announces a callback and fails, while somebody who has got the announcement answers. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aParkedRun, aRun, at, branches, noon, type Run, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const path = "approval/announce";
const failed = { attempt: { number: 1, beganAt: noon, endedAt: noon, error: "0null" } };

describeSomePostgres(
  "an announcement that fails",
  (database) => {
    const stage = stageOn(database);
    const announcing = async () => {
      const run = await aParkedRun(stage, branches([path]));
      await run.claimBranch(stage.onlooker, path, { token: path });
      return run;
    };
    const fail =
      (run: Run, more: object = {}) =>
      async (session: Session) => {
        const finish = { ...run.toFinishBranch(path, { token: path, ...failed }), announces: at("approval"), ...more };
        return (await session.call("finish_turns", { ...terms, turns: [finish] })).turns[0];
      };
    const answer = (run: Run) => (session: Session) => run.answer(session, "approval");
    const recorded = async (run: Run) =>
      (await stage.look("select value, attempts from layover.record where run_id = $1", [run.id]))[0];
    const announced = { value: '1{"$":"undefined"}', attempts: 1 };

    test("and that nobody has answered is an attempt that failed", async () => {
      const run = await announcing();
      await fail(run)(stage.onlooker);
      expect([await recorded(run), (await run.pending())[path]?.["attempts"]]).toEqual([undefined, 1]);
    });

    test("and that somebody has answered has come, whichever epoch other runs are at", async () => {
      const stranger = await aRun(stage);
      await stage.onlooker.query("update layover.run_state set epoch = 1 where run_id = $1", [stranger.id]);
      const run = await announcing();
      await answer(run)(stage.onlooker);
      await fail(run)(stage.onlooker);
      expect(await recorded(run)).toMatchObject(announced);
    });

    test("and that is answered while it waits for that lock has come", async () => {
      const run = await announcing();
      await stage.collide({ first: answer(run), second: fail(run) });
      expect(await recorded(run)).toMatchObject(announced);
    });

    test("and that waits for an answer that rolls back is an attempt that failed", async () => {
      const run = await announcing();
      await stage.collide({ first: answer(run), second: fail(run), ends: "rollback" });
      expect(await recorded(run)).toBeUndefined();
    });
  },
  { perTest: true },
);
