/** A deployment claims the runs whose code it has, and no others: also those that another one has let go. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aParkedRun, aRun, aRunAtWork, aWaitFor, branches, minute, type Run, terms } from "./runs.ts";
import { type Stage, stageOn } from "./stage.ts";

type Case = readonly [how: string, turn: number, make: (stage: Stage) => Promise<Run>];

const cases: readonly Case[] = [
  ["is ready", 1, aRun],
  ["was let go of", 1, aRunAtWork],
  ["waits", 2, (stage) => aParkedRun(stage, [aWaitFor("address")])],
  ["has branches", 2, (stage) => aParkedRun(stage, branches(["a"]))],
];

describeSomePostgres(
  "of two runs of which it has the code of one, a deployment",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["what is not over, paused or blocked and needs to be looked at has a due instant"],
    });

    test.each(cases)(
      "is told that the other one is not here, whichever was first: one that %s",
      async (_, turn, make) => {
        const runs = [await make(stage), await make(stage)];
        await stage.clock.advance(2 * minute);
        await stage.look("update layover.run_state set ready_at = layover.now()");
        for (const here of runs) {
          await stage.look("update layover.run set version = case when id = $1 then 1 else 2 end", [here.id]);
          for (const run of runs) {
            const claim = { ...run.toClaim({ token: "other", turn }), alone: true };
            const session = await stage.session("claimer");
            await session.begin();
            const { turns } = await session.call("claim_turns", { ...terms, turns: [claim] });
            await session.rollback();
            expect(turns).toMatchObject([{ outcome: run === here ? "claimed" : "not_here" }]);
          }
        }
      },
    );
  },
  { perTest: true },
);
