/** The slots of a map while a branch waits between two of its attempts. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { retry } from "./branching.ts";
import { aMap, second } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "of a map with slots, a branch whose attempt failed",
  (database) => {
    const stage = stageOn(database);
    const slots = async () => await stage.look("select slots from layover.map");

    test("keeps its slot until its next attempt, so nobody is taken from the queue", async () => {
      const run = await aMap(stage, ["all/x", "all/y"], { slots: 1 });
      const answer = await retry(run, "all/x", second)(stage.onlooker);
      expect(answer).toMatchObject({ outcome: "finished", turn: 2, branches: null });
      expect(await run.pending()).toMatchObject({ "all/x": { isQueued: false }, "all/y": { isQueued: true } });
      expect(await slots()).toEqual([{ slots: 0 }]);
    });

    test("gives its slot to the first in the queue once it is recorded", async () => {
      const run = await aMap(stage, ["all/x", "all/y"], { slots: 1 });
      await retry(run, "all/x", second)(stage.onlooker);
      await stage.clock.advance(second);
      await run.claimBranch(stage.onlooker, "all/x", { token: "again", turn: 2 });
      const answer = await run.finishBranch(stage.onlooker, "all/x", { token: "again", turn: 2 });
      expect(answer).toMatchObject({ outcome: "finished", branches: [{ path: "all/y" }] });
      expect(await run.pending()).toMatchObject({ "all/x": { isQueued: false }, "all/y": { isQueued: false } });
      expect(await slots()).toEqual([{ slots: 0 }]);
    });
  },
  { perTest: true },
);
