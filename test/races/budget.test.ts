/** What a claim answers has a budget of bytes: what does not fit is left as it is, for another claim. */
import { expect, test } from "vitest";
import { describeEachPostgres } from "../postgres/database.ts";
import { aParkedRun, aRun, aWaitFor, branches, type Run, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

const mebibyte = 1024 * 1024;

describeEachPostgres("a claim with a budget of bytes", (database) => {
  const stage = stageOn(database);

  /** A history of so many bytes, which its one record need not have. */
  const withHistory = async (run: Run, bytes: number) => {
    await stage.onlooker.query("update layover.run_state set history_bytes = $2, last_position = 1 where run_id = $1", [
      run.id,
      bytes,
    ]);
    return run;
  };
  const claim = async (budgetBytes: number, turns: readonly object[]) => {
    const answer = await stage.onlooker.call("claim_turns", { ...terms, budgetBytes, turns });
    return answer.turns.map(({ outcome }: { outcome: string }) => outcome);
  };

  test("takes as many of the first as fit, escaped, and leaves the rest unleased and uncounted", async () => {
    const runs = [];
    for (let number = 1; number <= 4; number += 1) runs.push(await withHistory(await aRun(stage), mebibyte));
    const turns = runs.map((run) => run.toClaim({ token: run.id }));
    expect(await claim(5 * mebibyte, turns)).toEqual(["claimed", "claimed", "later", "later"]);
    const states = await Promise.all(runs.map((run) => run.state()));
    expect(states.map(({ status }) => status)).toEqual(["running", "running", "parked", "parked"]);
    expect(states[2]).toMatchObject({ token: null, claims: 0, lost: 0, turn: 1, isReady: true });
  });

  test("takes one at least, and all where all fit", async () => {
    const [one, two] = [await withHistory(await aRun(stage), 9 * mebibyte), await aRun(stage)];
    const turns = [one, two].map((run) => run.toClaim({ token: run.id }));
    expect(await claim(mebibyte, turns)).toEqual(["claimed", "later"]);
    const more = [await aRun(stage), await aRun(stage)].map((run) => run.toClaim({ token: run.id }));
    expect(await claim(mebibyte, more)).toEqual(["claimed", "claimed"]);
  });

  test("counts nothing for what the caller holds", async () => {
    const runs = [];
    for (let number = 1; number <= 3; number += 1) runs.push(await withHistory(await aRun(stage), 9 * mebibyte));
    const turns = runs.map((run) => run.toClaim({ token: run.id, have: { epoch: 0, position: 1 } }));
    expect(await claim(mebibyte, turns)).toEqual(["claimed", "claimed", "claimed"]);
  });

  test("counts what came for a run and was not taken", async () => {
    const runs = [];
    for (let number = 1; number <= 2; number += 1) {
      const run = await aParkedRun(stage, [aWaitFor("address")]);
      await run.signal(stage.onlooker, "address", { payload: `0"${"x".repeat(mebibyte / 2)}"` });
      runs.push(run);
    }
    const turns = runs.map((run) => run.toClaim({ token: run.id, turn: 2 }));
    expect(await claim(mebibyte, turns)).toEqual(["claimed", "later"]);
  });

  test("counts the history for each branch of a run", async () => {
    const run = await withHistory(await aParkedRun(stage, branches(["a", "b", "c"])), mebibyte);
    const turns = ["a", "b", "c"].map((path) => ({ ...run.toClaim({ token: path }), path, occurrence: 1 }));
    expect(await claim(5 * mebibyte, turns)).toEqual(["claimed", "claimed", "later"]);
  });
});
