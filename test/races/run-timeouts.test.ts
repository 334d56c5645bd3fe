/** A run's timeout is judged by the time of its last record, however late or early the finish itself comes. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aParkedRun, aRecord, aRunAtWork, branches, minute, noon, type Run, second, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

const timeoutMs = 3 * minute;
const inTime = [aRecord("step", "charge", { at: noon + timeoutMs })];
const late = [aRecord("step", "charge", { at: noon + timeoutMs + 1 })];

describeSomePostgres(
  "a run with a timeout",
  (database) => {
    const stage = stageOn(database);
    const aTimedRun = () => aRunAtWork(stage, { timeoutMs });
    const end = (run: Run, records: typeof late, next: "completed" | "failed" = "completed") =>
      run.finish(stage.onlooker, { token: "first", next, value: "0null", records });

    test("completes by a record of the very instant, though its finish comes an hour later", async () => {
      const run = await aTimedRun();
      await stage.clock.set(noon + 60 * minute);
      expect(await end(run, inTime)).toMatchObject({ outcome: "finished", status: "completed" });
    });

    test.each(["completed", "failed"] as const)(
      "keeps a record that came later, and is ready for the claim that writes the timeout: %s",
      async (next) => {
        const run = await aTimedRun();
        await stage.clock.set(noon + timeoutMs + second);
        const answer = { outcome: "finished", turn: 2, status: "parked", isReady: true };
        expect(await end(run, late, next)).toMatchObject(answer);
        expect(await end(run, late, next)).toMatchObject(answer); // the same finish again
        expect(await run.history()).toEqual(["charge"]);
        expect(await run.claim(stage.onlooker, { token: "second", turn: 2 })).toMatchObject({ position: 2 });
        expect(await run.history()).toEqual(["charge", ""]);
        const over = await run.finish(stage.onlooker, { token: "second", position: 2, next: "failed", value: "0null" });
        expect(over).toMatchObject({ outcome: "finished", status: "failed" });
      },
    );

    test("is judged alike among others that end in one call, though the database's clock lags behind the records", async () => {
      const runs = [await aTimedRun(), await aTimedRun(), await aTimedRun()];
      const turns = runs.map((run, index) =>
        run.toFinish({ token: "first", next: "completed", value: "0null", records: index === 1 ? late : inTime }),
      );
      const { turns: answers } = await stage.onlooker.call("finish_turns", { ...terms, turns });
      expect(answers).toMatchObject([
        { status: "completed" },
        { status: "parked", isReady: true },
        { status: "completed" },
      ]);
    });

    test.each([
      ["in one call", true],
      ["one by one", false],
    ])("is sent for by the last of its branches at work, once its timeout has passed: %s", async (_, isSet) => {
      const run = await aFanOut(stage, ["a", "b", "c"], { timeoutMs });
      await stage.clock.set(noon + timeoutMs);
      for (const path of ["a", "b", "c"]) await run.renew(stage.onlooker, path, { path });
      const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: 0 };
      expect(await run.finishBranch(stage.onlooker, "a", { token: "a", attempt })).toMatchObject({ continues: null });
      const turns = ["b", "c"].map((path) => run.toFinishBranch(path, { token: path }));
      const answers = [];
      for (const some of isSet ? [turns] : turns.map((turn) => [turn]))
        answers.push(...(await stage.onlooker.call("finish_turns", { ...terms, turns: some })).turns);
      expect(answers).toMatchObject([{ continues: null }, { continues: 2 }]);
    });

    test("tells its branches of it, claimed together or alone", async () => {
      const run = await aParkedRun(stage, branches(["a", "b", "c"]), { timeoutMs });
      const claims = ["a", "b"].map((path) => ({ ...run.toClaim({ token: path }), path, occurrence: 1 }));
      const { turns } = await stage.onlooker.call("claim_turns", { ...terms, turns: claims });
      const alone = await run.claimBranch(stage.onlooker, "c", { token: "c" });
      expect([...turns, alone]).toMatchObject(Array(3).fill({ outcome: "claimed", timeoutAt: noon + timeoutMs }));
    });
  },
  { perTest: true },
);
