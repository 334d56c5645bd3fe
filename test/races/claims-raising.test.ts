/** A call for several turns that raises is done again, one turn after the other. What a turn then raises is told as it is. */
import { beforeEach, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { idOf } from "./invoking.ts";
import { aDemand, aRun, aRunAtWork, minute, noon, type Run, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

const limitExceeded = "54000";

describeSomePostgres(
  "a call for several turns",
  (database) => {
    const stage = stageOn(database);
    const last = 1_000;
    /** Refuses so many changes of runs with that error, and accepts all that follow. */
    const refuse = (many: number) => stage.onlooker.query(`alter sequence public.tries restart ${last - many + 1}`);

    beforeEach(async () => {
      await stage.onlooker.query(`create sequence public.tries start ${last + 1}`); // no rollback takes its numbers back
      await stage.onlooker.query(`create function public.refuse() returns trigger language plpgsql as $$
        begin
          if nextval('public.tries') <= ${last} then raise exception 'refused' using errcode = '${limitExceeded}'; end if;
          return new;
        end $$`);
      await stage.onlooker.query(
        "create trigger refusing before update on layover.run_state for each row execute function public.refuse()",
      );
    });
    const two = async (make: (runId: string) => Promise<Run>) => [await make(idOf(1)), await make(idOf(2))];

    test("that claims and raises each time tells what it raised, and claims nothing", async () => {
      const runs = await two((runId) => aRun(stage, { runId }));
      const turns = runs.map((run) => run.toClaim({ token: "first" }));
      const claim = () => stage.onlooker.call("claim_turns", { ...terms, turns });
      await refuse(900);
      await expect(claim()).rejects.toMatchObject({ code: limitExceeded });
      await refuse(0);
      expect(await claim()).toMatchObject({ turns: [{ outcome: "claimed" }, { outcome: "claimed" }] });
    });

    test("that finishes and raises once has finished each turn in the end, also those that ask for something", async () => {
      const runs = await two((runId) => aRunAtWork(stage, { runId }));
      const demands = [aDemand("sleep", "nap", { until: noon + minute })];
      const turns = runs.map((run) => run.toFinish({ token: "first", demands }));
      await refuse(1);
      const { turns: answers } = await stage.onlooker.call("finish_turns", { ...terms, turns });
      expect(answers).toMatchObject([{ outcome: "finished" }, { outcome: "finished" }]);
      for (const run of runs) expect(await run.pending()).toMatchObject({ nap: { kind: "sleep" } });
    });
  },
  { perTest: true },
);
